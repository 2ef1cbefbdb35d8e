// Curves as SVG.
#include "rondo/training/chart.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/markup.hpp"
#include "training/report/picture_style.hpp"

namespace rondo::training {
namespace {

constexpr double chart_width = 760, chart_height = 340;
constexpr double plot_left = 62, plot_right = 590, plot_top = 40, plot_bottom = 292;
constexpr std::size_t legend_limit = 14;

struct ChartPoint {
    double x, y;
};
struct Series {
    std::string name;
    std::vector<ChartPoint> points;
};

std::vector<Series> series_of(std::span<const Curve> curves, bool accuracy) {
    std::vector<Series> all;
    for (const Curve& curve : curves) {
        Series series{curve.name, {}};
        for (const CurvePoint& point : curve.points) {
            if (accuracy && !point.accuracy) continue;
            const double y = accuracy ? *point.accuracy : point.loss;
            if (std::isfinite(y) && std::isfinite(point.round)) {
                series.points.push_back({point.round, y});
            }
        }
        if (!series.points.empty()) all.push_back(std::move(series));
    }
    return all;
}

/// From numbers to places on the picture.
class Axes {
public:
    Axes(std::span<const Series> all, bool accuracy) {
        for (const Series& series : all) {
            for (const ChartPoint& point : series.points) {
                x_low_ = std::min(x_low_, point.x);
                x_high_ = std::max(x_high_, point.x);
                y_low_ = std::min(y_low_, point.y);
                y_high_ = std::max(y_high_, point.y);
            }
        }
        logarithmic_ = !accuracy && y_low_ > 0 && y_high_ / y_low_ > 100;
        if (accuracy) {
            y_low_ = 0;
            y_high_ = 1;
        } else if (!logarithmic_) {
            y_low_ = std::min(y_low_, 0.0);
        }
        if (y_high_ <= y_low_) y_high_ = y_low_ + 1;
        if (x_high_ <= x_low_) x_high_ = x_low_ + 1;
    }

    double x(double value) const {
        return plot_left + (value - x_low_) / (x_high_ - x_low_) * (plot_right - plot_left);
    }
    double y(double value) const {
        const double share = logarithmic_ ? std::log(value / y_low_) / std::log(y_high_ / y_low_)
                                          : (value - y_low_) / (y_high_ - y_low_);
        return plot_bottom - share * (plot_bottom - plot_top);
    }
    std::vector<double> x_ticks() const { return even_ticks(x_low_, x_high_, true); }
    std::vector<double> y_ticks() const {
        if (!logarithmic_) return even_ticks(y_low_, y_high_, false);
        std::vector<double> ticks;
        for (double power = std::floor(std::log10(y_low_)); power <= std::log10(y_high_); ++power) {
            const double value = std::pow(10, power);
            if (value >= y_low_) ticks.push_back(value);
        }
        return ticks;
    }

private:
    static std::vector<double> even_ticks(double low, double high, bool whole) {
        const double rough = (high - low) / 6;
        const double power = std::pow(10, std::floor(std::log10(rough)));
        const double share = rough / power;  // 1 to 10
        double step = power * (share > 5 ? 10 : share > 2 ? 5 : share > 1 ? 2 : 1);
        if (whole) step = std::max(1.0, std::round(step));
        std::vector<double> ticks;
        for (double value = std::ceil(low / step - 1e-9) * step; value <= high + step * 1e-9;
             value += step) {
            ticks.push_back(std::abs(value) < step * 1e-9 ? 0 : value);
        }
        return ticks;
    }

    double x_low_ = std::numeric_limits<double>::infinity();
    double x_high_ = -std::numeric_limits<double>::infinity();
    double y_low_ = std::numeric_limits<double>::infinity();
    double y_high_ = -std::numeric_limits<double>::infinity();
    bool logarithmic_ = false;
};

std::string draw_axes(const Axes& axes, const ChartOptions& options) {
    std::string svg;
    for (const double tick : axes.y_ticks()) {
        svg += fmt::format(
            "<line class='grid' x1='{}' x2='{}' y1='{:.1f}' y2='{:.1f}'/>"
            "<text x='{}' y='{:.1f}' text-anchor='end'>{:.4g}</text>\n",
            plot_left, plot_right, axes.y(tick), axes.y(tick), plot_left - 8, axes.y(tick) + 4,
            tick);
    }
    for (const double tick : axes.x_ticks()) {
        svg += fmt::format("<text x='{:.1f}' y='{}' text-anchor='middle'>{:.4g}</text>\n",
                           axes.x(tick), plot_bottom + 20, tick);
    }
    svg += fmt::format("<text x='{}' y='{}' text-anchor='middle'>{}</text>\n",
                       (plot_left + plot_right) / 2, plot_bottom + 40,
                       escaped_markup(options.x_label));
    return svg;
}

std::string draw_series(const Series& series, const Axes& axes, std::size_t number,
                        std::size_t all) {
    const bool main = series.name == "validation";
    const std::string style = main ? "main" : fmt::format("s{}", number % series_styles);
    std::string points;
    for (const ChartPoint& point : series.points) {
        points += fmt::format("{:.1f},{:.1f} ", axes.x(point.x), axes.y(point.y));
    }
    std::string svg =
        fmt::format("<polyline class='{}' points='{}' stroke-width='{}' opacity='{}'/>\n", style,
                    points, main ? 2.5 : 1.6, all > series_styles && !main ? 0.6 : 1);
    if (series.points.size() == 1) {
        svg += fmt::format("<circle class='{}' cx='{:.1f}' cy='{:.1f}' r='3'/>\n", style,
                           axes.x(series.points[0].x), axes.y(series.points[0].y));
    }
    if (number < legend_limit) {
        const double y = plot_top + 6 + 17 * static_cast<double>(number);
        svg += fmt::format(
            "<line class='{}' x1='{}' x2='{}' y1='{}' y2='{}' stroke-width='3'/>"
            "<text x='{}' y='{}'>{}</text>\n",
            style, plot_right + 16, plot_right + 34, y, y, plot_right + 40, y + 4,
            escaped_markup(series.name));
    }
    return svg;
}

}  // namespace

std::string draw_curves(std::span<const Curve> curves, const ChartOptions& options) {
    std::vector<Series> all = series_of(curves, options.accuracy);
    // What counts most is drawn last and named first.
    std::ranges::stable_partition(all, [](const Series& s) { return s.name == "validation"; });
    std::string svg = fmt::format(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0} {1}' width='{0}' height='{1}' "
        "role='img' aria-label=\"{2}\">\n{4}<text class='title' x='{3}' y='22'>{2}</text>\n",
        chart_width, chart_height, escaped_markup(options.title), plot_left, picture_style);
    if (all.empty()) {
        return svg + fmt::format("<text x='{}' y='{}'>no points</text>\n</svg>\n", plot_left,
                                 plot_top + 40);
    }
    const Axes axes(all, options.accuracy);
    svg += draw_axes(axes, options);
    for (std::size_t i = all.size(); i-- > 0;) svg += draw_series(all[i], axes, i, all.size());
    if (all.size() > legend_limit) {
        svg += fmt::format("<text x='{}' y='{}'>and {} more</text>\n", plot_right + 16,
                           plot_top + 10 + 17 * legend_limit, all.size() - legend_limit);
    }
    return svg + "</svg>\n";
}

}  // namespace rondo::training
