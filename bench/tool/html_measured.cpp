// The part of the report about what was measured: charts, and a table of all figures.
#include <algorithm>

#include "base/markup.hpp"
#include "bench/tool/charts.hpp"
#include "bench/tool/html_part.hpp"
#include "bench/tool/report_lines.hpp"
#include "bench/tool/text_table.hpp"

namespace rondo::bench {
namespace {

bool has_half(const Report& report, Place place) {
    return std::ranges::any_of(report.rows,
                               [&](const Row& row) { return half_at(row, place).has_value(); });
}

class MeasuredSection : HtmlPart {
public:
    using HtmlPart::HtmlPart;

    std::string text() {
        if (report_.rows.empty()) return {};
        write("<section aria-labelledby=\"measured\"><h2 id=\"measured\">Measured</h2>\n");
        const bool both =
            has_half(report_, Place::out_of_place) && has_half(report_, Place::in_place);
        write("<div class=\"tabs\">\n");
        tab("out", "out of place", true, has_half(report_, Place::out_of_place) && both);
        tab("in", "in place", !has_half(report_, Place::out_of_place), both);
        half_section(Place::out_of_place, "out");
        half_section(Place::in_place, "in");
        write("</div></section>\n");
        return std::move(out_);
    }

private:
    void tab(const char* id, const char* title, bool checked, bool visible) {
        write(
            "<input type=\"radio\" name=\"half\" id=\"tab-{}\"{}><label "
            "for=\"tab-{}\"{}>{}</label>\n",
            id, checked ? " checked" : "", id, visible ? "" : " hidden", title);
    }

    void half_section(Place place, const char* id) {
        if (!has_half(report_, place)) return;
        write("<div class=\"half half-{}\"><div class=\"charts\">\n", id);
        out_ += line_chart({fmt::format("time-{}", id), "Time, lower is better", "µs", true},
                           lines_of(report_, place, [](double us, double) { return us; }));
        out_ += line_chart({fmt::format("bandwidth-{}", id),
                            "Algorithm bandwidth, higher is better", "GB/s", false},
                           lines_of(report_, place, [](double us, double size) {
                               return us > 0 ? 1e-3 * size / us : 0;
                           }));
        write(
            "</div>\n<p class=\"soft\">{}</p>\n",
            report_.header.limit_of == "memory"
                ? "The limit is the better of two hand-written loops with all cores, timed in the "
                  "same rounds: one reads and writes as many bytes, one does the same collective."
                : "The limit is the time of copies that move as many bytes over the links, all at "
                  "once, timed in the same rounds.");
        table(place, id);
        write("</div>\n");
    }

    void table(Place place, const char* id) {
        write(
            "<details{}><summary>All figures</summary><div class=\"scroll\" tabindex=\"0\" "
            "role=\"region\" aria-label=\"table of all figures\"><table id=\"table-{}\">\n"
            "<thead><tr><th>size</th><th>type</th><th>op</th><th>strategy</th><th>time µs</th>"
            "<th>quartiles</th><th>algbw GB/s</th><th>busbw GB/s</th><th>wrong</th><th>of the "
            "limit</th>",
            report_.rows.size() <= 24 ? " open" : "", id);
        for (const std::string& peer : report_.peers) {
            write("<th>{} µs</th><th>speed-up</th>", escaped_markup(peer));
        }
        write("</tr></thead>\n<tbody>\n");
        for (const Row& row : report_.rows) {
            if (half_at(row, place)) table_row(row, *half_at(row, place));
        }
        write("</tbody></table></div></details>\n");
    }

    void table_row(const Row& row, const Half& half) {
        write("<tr data-size=\"{}\"><td>{}</td><td>{}</td><td>{}</td><td>{}</td>", row.size,
              bytes_text(static_cast<double>(row.size)), row.type, row.op,
              escaped_markup(row.asked == row.strategy ? row.strategy
                                                       : row.asked + ": " + row.strategy));
        write("<td data-us=\"{}\">{}</td><td>{} – {}</td>", half.us.median,
              fitted(half.us.median, 8), fitted(half.us.low, 8), fitted(half.us.high, 8));
        write("<td data-algbw=\"{}\">{:.2f}</td><td data-busbw=\"{}\">{:.2f}</td>", half.alg_bw,
              half.alg_bw, half.bus_bw, half.bus_bw);
        write("<td{}>{}</td>", half.wrong.value_or(0) > 0 ? " class=\"bad-cell\"" : "",
              half.wrong ? std::to_string(*half.wrong) : "not checked");
        write("<td>{}</td>",
              half.limit_ratio() > 0 ? fmt::format("{:.2f}", half.limit_ratio()) : "–");
        for (const std::string& name : report_.peers) {
            const auto peer = std::ranges::find(half.peers, name, &PeerTime::name);
            if (peer == half.peers.end() || peer->us.median == 0) {
                const bool failed = peer != half.peers.end() && !peer->problem.empty();
                write("<td>{}</td><td>–</td>", failed ? "failed" : "–");
                continue;
            }
            const double speedup = speedup_over(*peer, report_, row, half);
            write("<td data-peer-us=\"{}\">{}</td><td>{}</td>", peer->us.median,
                  fitted(peer->us.median, 8), speedup > 0 ? fmt::format("{:.2f}×", speedup) : "–");
        }
        write("</tr>\n");
    }
};

}  // namespace

std::string measured_section(const Report& report) {
    return MeasuredSection(report).text();
}

}  // namespace rondo::bench
