// The report: one HTML file that people look at, with charts, tables and the machine.
#include "bench/tool/html_report.hpp"

#include <fmt/format.h>

#include "base/markup.hpp"
#include "bench/tool/charts.hpp"
#include "bench/tool/html_part.hpp"
#include "bench/tool/html_style.hpp"
#include "bench/tool/json_output.hpp"
#include "bench/tool/report_lines.hpp"

namespace rondo::bench {
namespace {

/// JSON inside a script element must not end it.
std::string embedded_json(const Report& report) {
    std::string json = to_json(report);
    for (auto at = json.find("</"); at != std::string::npos; at = json.find("</", at + 3)) {
        json.replace(at, 2, "<\\/");
    }
    return json;
}

class HtmlReport : HtmlPart {
public:
    using HtmlPart::HtmlPart;

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
        out_ += measured_section(report_);
        simulated();
        out_ += choice_maps_section(report_);
        out_ += growth_section(report_);
        first_calls();
        topology();
        machine();
        write("</main>\n<script type=\"application/json\" id=\"report-json\">{}</script>\n",
              embedded_json(report_));
        write("<script>{}</script>\n</body></html>\n", report_script);
        return std::move(out_);
    }

private:
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
};

}  // namespace

std::string to_html(const Report& report) {
    return HtmlReport(report).text();
}

}  // namespace rondo::bench
