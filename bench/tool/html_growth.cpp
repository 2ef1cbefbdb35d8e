// The part of the report about growth: time and memory against the number of GPUs.
#include "base/markup.hpp"
#include "bench/tool/charts.hpp"
#include "bench/tool/html_part.hpp"
#include "bench/tool/report_lines.hpp"
#include "bench/tool/text_table.hpp"

namespace rondo::bench {
namespace {

class GrowthSection : HtmlPart {
public:
    using HtmlPart::HtmlPart;

    std::string text() {
        if (report_.growth.empty()) return {};
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
        return std::move(out_);
    }
};

}  // namespace

std::string growth_section(const Report& report) {
    return GrowthSection(report).text();
}

}  // namespace rondo::bench
