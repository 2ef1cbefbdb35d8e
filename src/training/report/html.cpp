// A run as one HTML file.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/markup.hpp"
#include "rondo/training/chart.hpp"

namespace rondo::training {
namespace {

constexpr const char* html_style = R"(<style>
:root{color-scheme:light dark;--paper:#fff;--text:#1f2937;--quiet:#5f6b7a;--rule:#e5e7eb;--card:#f3f4f6}
@media (prefers-color-scheme:dark){:root{--paper:#12161c;--text:#e6eaf0;--quiet:#9aa6b5;--rule:#2c343f;--card:#1a2029}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--text);background:var(--paper);max-width:800px;margin:32px auto;padding:0 20px}
h1{font-size:24px;margin:0 0 4px}h2{font-size:17px;margin:28px 0 8px}
p.strategy{color:var(--quiet);margin:0 0 20px}
table{border-collapse:collapse}td,th{padding:4px 14px 4px 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--rule)}
th{font-weight:500;color:var(--quiet);white-space:nowrap}
.picture{overflow-x:auto}.picture>svg{display:block;width:100%;min-width:560px;max-width:760px;height:auto}
pre{background:var(--card);padding:12px;overflow-x:auto;font-size:12px}
</style>
)";

std::string fact_row(std::string_view name, std::string_view value) {
    return fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", escaped_markup(name),
                       escaped_markup(value));
}

/// Narrow screens move a picture instead of shrinking it until its text can't be read.
std::string scrolling(const std::string& picture) {
    return "<div class='picture'>" + picture + "</div>\n";
}

bool has_accuracy(const TrainingReport& report) {
    return std::ranges::any_of(report.curves, [](const Curve& curve) {
        return std::ranges::any_of(
            curve.points, [](const CurvePoint& point) { return point.accuracy.has_value(); });
    });
}

std::string fact_table(const TrainingReport& report, const HtmlReportOptions& options) {
    std::string html = "<table>\n";
    for (const auto& [name, value] : options.facts) html += fact_row(name, value);
    html += fact_row("rounds", fmt::format("{} ({})", report.rounds, report.ended_because));
    html += fact_row("steps", fmt::format("{}", report.steps));
    html += fact_row("time", fmt::format("{:.2f} s", report.seconds));
    html += fact_row("parameters", fmt::format("{}", report.parameters.size()));
    if (report.validation) {
        html += fact_row("validation loss", fmt::format("{:.5g}", report.validation->loss));
        if (has_accuracy(report)) {
            html += fact_row("validation accuracy", fmt::format("{:.2f} % of {} samples",
                                                                100 * report.validation->accuracy,
                                                                report.validation->samples));
        }
    }
    if (report.bubble > 0) {
        html += fact_row("bubble of the pipeline",
                         fmt::format("{:.1f} % of the work by the timetable, {:.1f} % measured",
                                     100 * report.bubble, 100 * report.measured_bubble));
    }
    return html + "</table>\n";
}

std::string failures(const TrainingReport& report) {
    if (report.client_failures.empty() && report.notes.empty()) return {};
    std::string html = "<h2>What failed</h2>\n<table>\n";
    std::map<std::string, std::size_t> counts;
    for (const ClientFailure& failure : report.client_failures) {
        ++counts[fmt::format("client {}: {}", failure.client, failure.reason)];
    }
    for (const auto& [text, count] : counts) {
        html += fact_row(fmt::format("{} rounds", count), text);
    }
    for (const std::string& note : report.notes) html += fact_row("note", note);
    return html + "</table>\n";
}

}  // namespace

std::string html_report(const TrainingReport& report, const HtmlReportOptions& options) {
    std::string html = fmt::format(
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'/><meta name='viewport' "
        "content='width=device-width'/><title>{0}</title>\n{1}</head><body>\n<h1>{0}</h1>\n"
        "<p class='strategy'>{2}</p>\n",
        escaped_markup(options.title), html_style, escaped_markup(to_string(report.strategy)));
    html += fact_table(report, options);
    html += "<h2>Curves</h2>\n" + scrolling(draw_curves(report.curves, {.title = "Loss"}));
    if (has_accuracy(report)) {
        html += scrolling(draw_curves(report.curves, {.title = "Accuracy", .accuracy = true}));
    }
    if (report.evolution && !report.evolution->generations.empty()) {
        html += "<h2>Population</h2>\n" + scrolling(draw_lineage(*report.evolution));
    }
    html += failures(report);
    if (!report.timetable.empty()) {
        html +=
            "<h2>Timetable of a step</h2>\n<pre>" + escaped_markup(report.timetable) + "</pre>\n";
    }
    html += "<h2>Strategy</h2>\n<pre>" + escaped_markup(to_json(report.strategy)) + "</pre>\n";
    return html + "</body></html>\n";
}

}  // namespace rondo::training
