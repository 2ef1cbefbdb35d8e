// Charts as SVG text: lines over message sizes, for the report.
#include "bench/tool/charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "base/markup.hpp"
#include "bench/tool/sizes.hpp"

namespace rondo::bench {
namespace {

constexpr double chart_width = 480, chart_height = 330;
constexpr double left_edge = 62, right_edge = 28, top_edge = 14, bottom_edge = 44;

/// Where values lie along an axis.
class Axis {
public:
    Axis(double low, double high, bool logarithmic, double from, double to)
        : logarithmic_(logarithmic), from_(from), to_(to), low_(scaled(low)), high_(scaled(high)) {
        if (high_ <= low_) high_ = low_ + 1;
    }
    double place(double value) const {
        return from_ + (scaled(value) - low_) / (high_ - low_) * (to_ - from_);
    }

private:
    double scaled(double value) const { return logarithmic_ ? std::log10(value) : value; }

    bool logarithmic_;
    double from_, to_, low_, high_;
};

/// At most about six round numbers from low to high.
std::vector<double> linear_ticks(double high) {
    const double raw = high / 5;
    const double power = std::pow(10, std::floor(std::log10(raw)));
    double step = 10 * power;
    for (const double factor : {1.0, 2.0, 5.0}) {
        if (factor * power >= raw) {
            step = factor * power;
            break;
        }
    }
    std::vector<double> ticks;
    for (int i = 0; i * step <= high * 1.0001; ++i) ticks.push_back(i * step);
    return ticks;
}

std::vector<double> decades(double low, double high) {
    std::vector<double> ticks;
    for (double tick = std::pow(10, std::floor(std::log10(low))); tick <= high * 1.0001;
         tick *= 10) {
        if (tick >= low * 0.9999) ticks.push_back(tick);
    }
    const std::size_t every = ticks.size() / 7 + 1;
    std::vector<double> fewer;
    for (std::size_t i = 0; i < ticks.size(); i += every) fewer.push_back(ticks[i]);
    return fewer;
}

std::string tick_text(double value) {
    if (value >= 1e6) return fmt::format("{:g}M", value / 1e6);
    if (value >= 1e4) return fmt::format("{:g}k", value / 1e3);
    return fmt::format("{:g}", value);
}

class LineChart {
public:
    LineChart(const ChartText& text, const std::vector<Series>& series)
        : text_(text), series_(series) {
        for (const Series& line : series) {
            for (const auto& [x, y] : line.points) {
                xs_.insert(x);
                low_ = low_ == 0 ? y : std::min(low_, y);
                high_ = std::max(high_, y);
            }
        }
        if (text.log_y) {
            low_ = std::pow(10, std::floor(std::log10(low_)));
            high_ = std::pow(10, std::ceil(std::log10(high_)));
        } else {
            low_ = 0;
            high_ = linear_ticks(high_).back() < high_ ? high_ * 1.08 : high_;
        }
    }

    std::string draw() {
        const Axis x(*xs_.begin(), *xs_.rbegin(), true, left_edge, chart_width - right_edge);
        const Axis y(low_, high_, text_.log_y, chart_height - bottom_edge, top_edge);
        write("<figure class=\"chart\" id=\"{}\"><figcaption>{}</figcaption>\n", text_.id,
              escaped_markup(text_.title));
        write(
            "<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" tabindex=\"0\" aria-label=\"{}. Left "
            "and right arrow keys read the values.\">\n",
            chart_width, chart_height, escaped_markup(text_.title));
        draw_y_axis(y);
        draw_x_axis(x);
        write("<line class=\"cursor\" x1=\"-9\" x2=\"-9\" y1=\"{}\" y2=\"{}\"/>\n", top_edge,
              chart_height - bottom_edge);
        for (const Series& line : series_) draw_line(line, x, y);
        write("</svg>\n<div class=\"legend\">");
        for (const Series& line : series_) {
            write(
                "<span class=\"{}\"><svg viewBox=\"0 0 26 10\" aria-hidden=\"true\"><path "
                "class=\"line\" d=\"M1 5H25\"/></svg>{}</span>",
                line.css_class, escaped_markup(line.name));
        }
        write("</div>\n<p class=\"readout\" aria-live=\"polite\"></p></figure>\n");
        return out_;
    }

private:
    template <class... Values>
    void write(fmt::format_string<Values...> format, Values&&... values) {
        fmt::format_to(std::back_inserter(out_), format, std::forward<Values>(values)...);
    }

    void draw_y_axis(const Axis& y) {
        for (const double tick : text_.log_y ? decades(low_, high_) : linear_ticks(high_)) {
            const double at = y.place(tick);
            write(
                "<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
                "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
                left_edge, chart_width - right_edge, at, at, left_edge - 6, at + 4,
                tick_text(tick));
        }
        write(
            "<text class=\"unit\" transform=\"translate(13 {}) rotate(-90)\" "
            "text-anchor=\"middle\">{}</text>\n",
            (top_edge + chart_height - bottom_edge) / 2, escaped_markup(text_.y_unit));
    }

    void draw_x_axis(const Axis& x) {
        double last = -1e9;
        for (const double value : xs_) {
            const double at = x.place(value);
            if (at - last < 56) continue;
            last = at;
            write(
                "<line class=\"tick\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>"
                "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4}</text>\n",
                at, chart_height - bottom_edge, chart_height - bottom_edge + 5,
                chart_height - bottom_edge + 20,
                text_.x_is_bytes ? bytes_text(value) : fmt::format("{:g}", value));
        }
        write("<text class=\"unit\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
              (left_edge + chart_width - right_edge) / 2, chart_height - 6,
              text_.x_is_bytes ? "message size" : "GPUs");
    }

    void draw_line(const Series& line, const Axis& x, const Axis& y) {
        write("<g class=\"{}\" data-name=\"{}\"><path class=\"line\" d=\"", line.css_class,
              escaped_markup(line.name));
        const char* letter = "M";
        for (const auto& [at, value] : line.points) {
            write("{}{:.1f} {:.1f}", letter, x.place(at), y.place(value));
            letter = "L";
        }
        write("\"/>");
        for (const auto& [at, value] : line.points) {
            write(
                "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.2\" data-x=\"{}\" data-y=\"{}\">"
                "<title>{}, {}: {:.4g} {}</title></circle>",
                x.place(at), y.place(value), at, value, escaped_markup(line.name),
                text_.x_is_bytes ? bytes_text(at) : fmt::format("{:g} GPUs", at), value,
                escaped_markup(text_.y_unit));
        }
        write("</g>\n");
    }

    const ChartText& text_;
    const std::vector<Series>& series_;
    std::set<double> xs_;
    double low_ = 0, high_ = 0;
    std::string out_;
};

}  // namespace

std::string line_chart(const ChartText& text, const std::vector<Series>& series) {
    const bool empty =
        std::ranges::all_of(series, [](const Series& s) { return s.points.empty(); });
    return empty ? "" : LineChart(text, series).draw();
}

}  // namespace rondo::bench
