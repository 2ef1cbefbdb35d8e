// The report: one HTML file that people look at, with charts, tables and the machine.
#include "bench/tool/html_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "base/markup.hpp"
#include "bench/tool/charts.hpp"
#include "bench/tool/html_style.hpp"
#include "bench/tool/json_output.hpp"
#include "bench/tool/report_lines.hpp"
#include "bench/tool/text_table.hpp"

namespace rondo::bench {
namespace {

bool has_half(const Report& report, Place place) {
    return std::ranges::any_of(report.rows,
                               [&](const Row& row) { return half_at(row, place).has_value(); });
}

/// JSON inside a script element must not end it.
std::string embedded_json(const Report& report) {
    std::string json = to_json(report);
    for (auto at = json.find("</"); at != std::string::npos; at = json.find("</", at + 3)) {
        json.replace(at, 2, "<\\/");
    }
    return json;
}

class HtmlReport {
public:
    explicit HtmlReport(const Report& report) : report_(report) {}

    std::string text() {
        const Header& header = report_.header;
        const std::string title =
            fmt::format("{} on {} {}GPU{}", to_string(header.operation), header.ranks(),
                        header.virtual_gpus ? "virtual " : "", header.ranks() == 1 ? "" : "s");
        write(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta "
            "name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>Rondo: "
            "{}</title>\n<style>{}</style></head>\n<body>\n<header><h1>Rondo: {}</h1>\n",
            escaped_markup(title), report_style, escaped_markup(title));
        write("<p class=\"verdict{}\">{}</p>\n", report_.wrong() > 0 ? " bad" : "",
              escaped_markup(report_.verdict));
        write(
            "<p class=\"soft\">{} on {}, rondo-bench {}. Medians of {} interleaved rounds.{}</p>\n",
            header.end_time, escaped_markup(header.host), header.version, header.rounds,
            header.virtual_gpus
                ? " Times are measured on virtual GPUs, which are this machine's processor: they "
                  "say how good the software is, not how fast a GPU is."
                : "");
        write("</header>\n<main>\n");
        measured();
        simulated();
        choice_maps();
        growth();
        first_calls();
        topology();
        machine();
        write("</main>\n<script type=\"application/json\" id=\"report-json\">{}</script>\n",
              embedded_json(report_));
        write("<script>{}</script>\n</body></html>\n", report_script);
        return out_;
    }

private:
    template <class... Values>
    void write(fmt::format_string<Values...> format, Values&&... values) {
        fmt::format_to(std::back_inserter(out_), format, std::forward<Values>(values)...);
    }

    // ---- measured
    void measured() {
        if (report_.rows.empty()) return;
        write("<section aria-labelledby=\"measured\"><h2 id=\"measured\">Measured</h2>\n");
        const bool both =
            has_half(report_, Place::out_of_place) && has_half(report_, Place::in_place);
        write("<div class=\"tabs\">\n");
        tab("out", "out of place", true, has_half(report_, Place::out_of_place) && both);
        tab("in", "in place", !has_half(report_, Place::out_of_place), both);
        half_section(Place::out_of_place, "out");
        half_section(Place::in_place, "in");
        write("</div></section>\n");
    }

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

    // ---- simulated
    void simulated() {
        const std::string chart = line_chart(
            {"simulated-time", "Simulated time on " + report_.header.topology, "µs", true},
            simulated_lines(report_));
        if (chart.empty()) return;
        write(
            "<section aria-labelledby=\"simulated\"><h2 id=\"simulated\">Simulated</h2>\n<p "
            "class=\"soft\">What the simulator predicts for the machine {}. These are no "
            "measurements; saved logs of real machines stand beside them. The dashed line is "
            "computed: "
            "on this wiring no schedule is faster.</p>\n<div "
            "class=\"charts\">{}</div></section>\n",
            escaped_markup(report_.header.topology), chart);
    }

    // ---- choice maps: size x strategy
    struct Cell {
        double us = 0;
        bool chosen = false;
    };
    using Map = std::map<std::string, std::map<std::uint64_t, Cell>>;

    void choice_maps() {
        Map measured, simulated;
        std::map<std::uint64_t, std::string> automatic;
        for (const Row& row : report_.rows) {
            if (row.asked == "automatic") automatic[row.size] = row.strategy;
        }
        const auto family = [](const std::string& name) { return name.substr(0, name.find('(')); };
        for (const Row& row : report_.rows) {
            const auto halves = halves_of(row);
            if (row.asked == "automatic" || halves.empty() || row.size == 0) continue;
            measured[row.asked].emplace(row.size,
                                        Cell{halves.back()->us.median,
                                             family(automatic[row.size]) == family(row.strategy)});
        }
        for (const Prediction& prediction : report_.predictions) {
            simulated[prediction.strategy][prediction.bytes] = {prediction.us, prediction.chosen};
        }
        if (measured.size() < 2 && simulated.size() < 2) return;
        write(
            "<section aria-labelledby=\"choice\"><h2 id=\"choice\">Choice map</h2>\n<p "
            "class=\"soft\">Time of each strategy, as a multiple of the best at that size. What "
            "runs when none is named has a frame.</p>\n");
        choice_map("Measured here", "choice-measured", measured);
        choice_map("Simulated on " + report_.header.topology, "choice-simulated", simulated);
        write("</section>\n");
    }

    void choice_map(const std::string& title, const char* id, const Map& map) {
        if (map.size() < 2) return;
        std::map<std::uint64_t, double> best;
        for (const auto& [strategy, cells] : map) {
            for (const auto& [size, cell] : cells) {
                const auto [found, added] = best.emplace(size, cell.us);
                if (!added) found->second = std::min(found->second, cell.us);
            }
        }
        write(
            "<h3>{}</h3><div class=\"scroll\" tabindex=\"0\" role=\"region\" "
            "aria-label=\"{}\"><table id=\"{}\"><thead><tr><th>strategy</th>",
            escaped_markup(title), escaped_markup(title), id);
        for (const auto& [size, us] : best)
            write("<th>{}</th>", bytes_text(static_cast<double>(size)));
        write("</tr></thead><tbody>\n");
        for (const auto& [strategy, cells] : map) {
            write("<tr><td>{}</td>", escaped_markup(strategy));
            for (const auto& [size, us] : best) {
                const auto cell = cells.find(size);
                if (cell == cells.end()) {
                    write("<td>–</td>");
                    continue;
                }
                const double ratio = cell->second.us / us;
                const int heat = ratio < 1.1   ? 0
                                 : ratio < 1.5 ? 1
                                 : ratio < 2.5 ? 2
                                 : ratio < 5   ? 3
                                               : 4;
                write("<td class=\"h{}{}\" data-us=\"{}\">{}</td>", heat,
                      cell->second.chosen ? " chosen" : "", cell->second.us, fitted(ratio, 5));
            }
            write("</tr>\n");
        }
        write("</tbody></table></div>\n");
    }

    // ---- growth
    void growth() {
        if (report_.growth.empty()) return;
        LineSet time, first, host, device;
        std::set<int> ranks;
        for (const GrowthPoint& point : report_.growth) {
            const auto bytes = static_cast<double>(point.bytes);
            const std::string name = fmt::format("{} GPUs", point.ranks);
            if ((point.ranks & (point.ranks - 1)) == 0) {
                time.add(name, bytes, point.us.median);
                first.add(name, bytes, 1e3 * point.first_ms);
            }
            const std::string size = bytes_text(bytes);
            host.add(size, point.ranks, point.host_bytes / 1024);
            device.add(size, point.ranks, point.device_bytes / 1024);
        }
        write(
            "<section aria-labelledby=\"growth\"><h2 id=\"growth\">Growth</h2>\n<div "
            "class=\"charts\">\n");
        out_ += line_chart({"growth-time", "Later calls", "µs", true}, time.take());
        out_ += line_chart({"growth-first", "First call of a new communicator", "µs", true},
                           first.take());
        out_ += line_chart({"growth-host", "Host memory of a communicator", "KiB", true, false},
                           host.take());
        out_ += line_chart({"growth-device", "Device scratch per GPU", "KiB", true, false},
                           device.take());
        write(
            "</div>\n<details><summary>All figures</summary><div class=\"scroll\" tabindex=\"0\" "
            "role=\"region\" aria-label=\"growth\"><table id=\"table-growth\"><thead><tr>"
            "<th>GPUs</th><th>size</th><th>first call ms</th><th>later µs</th><th>host memory"
            "</th><th>device memory</th></tr></thead><tbody>\n");
        for (const GrowthPoint& point : report_.growth) {
            write("<tr><td>{}</td><td>{}</td>", point.ranks,
                  bytes_text(static_cast<double>(point.bytes)));
            if (!point.left_out.empty()) {
                write("<td class=\"text\" colspan=\"4\">{}</td></tr>\n",
                      escaped_markup(point.left_out));
                continue;
            }
            write("<td>{:.2f}</td><td data-us=\"{}\">{}</td><td>{}</td><td>{}</td></tr>\n",
                  point.first_ms, point.us.median, fitted(point.us.median, 8),
                  bytes_text(point.host_bytes), bytes_text(point.device_bytes));
        }
        write("</tbody></table></div></details></section>\n");
    }

    // ---- the rest
    void first_calls() {
        if (report_.first_calls.empty()) return;
        write(
            "<section aria-labelledby=\"first\"><h2 id=\"first\">First calls</h2>\n<p "
            "class=\"soft\">A new communicator's first call chooses, builds and proves its "
            "schedule; "
            "later ones don't.</p><div class=\"scroll\" tabindex=\"0\" role=\"region\" "
            "aria-label=\"first calls\"><table id=\"table-first\"><thead><tr><th>strategy</th>"
            "<th>GPUs</th><th>size</th><th>creation ms</th><th>first call ms</th><th>second "
            "call ms</th></tr></thead><tbody>\n");
        for (const FirstCall& call : report_.first_calls) {
            write(
                "<tr><td>{}</td><td>{}</td><td>{}</td><td>{:.2f}</td><td>{:.2f}</td><td>{:.3f}"
                "</td></tr>\n",
                escaped_markup(call.strategy), call.ranks,
                bytes_text(static_cast<double>(call.bytes)), call.create_ms, call.first_ms,
                call.second_ms);
        }
        write("</tbody></table></div></section>\n");
    }

    void topology() {
        if (report_.header.topology_svg.empty()) return;
        write(
            "<section aria-labelledby=\"topology\"><h2 id=\"topology\">Topology</h2>\n<div "
            "class=\"topology\">{}</div></section>\n",
            report_.header.topology_svg);
    }

    void machine() {
        write(
            "<section aria-labelledby=\"machine\"><h2 id=\"machine\">Machine and run</h2><div "
            "class=\"scroll\"><table><tbody>\n");
        for (const auto& [key, value] : report_.header.machine) {
            write("<tr><td>{}</td><td class=\"text\">{}</td></tr>\n", escaped_markup(key),
                  escaped_markup(value));
        }
        if (!report_.header.devices.empty()) {
            write("<tr><td>GPUs</td><td class=\"text\">{} × {}</td></tr>\n", report_.header.ranks(),
                  escaped_markup(report_.header.devices.front().name));
        }
        write(
            "<tr><td>command</td><td "
            "class=\"text\"><code>{}</code></td></tr></tbody></table></div>\n",
            escaped_markup(fmt::format("{}", fmt::join(report_.header.arguments, " "))));
        for (const std::string& note : report_.notes)
            write("<p>Note: {}</p>\n", escaped_markup(note));
        for (const std::string& error : report_.errors) {
            write("<p class=\"bad-cell\">Error: {}</p>\n", escaped_markup(error));
        }
        write("</section>\n");
    }

    const Report& report_;
    std::string out_;
};

}  // namespace

std::string to_html(const Report& report) {
    return HtmlReport(report).text();
}

}  // namespace rondo::bench
