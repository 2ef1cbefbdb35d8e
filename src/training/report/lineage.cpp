// The life of a population as SVG.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/markup.hpp"
#include "rondo/training/chart.hpp"
#include "training/report/picture_style.hpp"

namespace rondo::training {
namespace {

constexpr double lineage_left = 84, lineage_top = 46, lineage_row = 26, lineage_width = 640;

class LineagePicture {
public:
    explicit LineagePicture(const EvolutionLog& log)
        : log_(log), members_(log.generations[0].size()), line_(lineage(log, log.best)) {
        for (const auto& generation : log.generations) {
            for (const MemberRecord& record : generation) {
                if (!std::isfinite(record.score)) continue;
                low_ = std::min(low_, record.score);
                high_ = std::max(high_, record.score);
            }
        }
    }

    std::string draw() const {
        const double height = lineage_top + lineage_row * static_cast<double>(members_) + 34;
        std::string svg = fmt::format(
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 760 {0}' width='760' "
            "height='{0}' role='img' aria-label='Lineage'>\n{1}"
            "<text class='title' x='16' y='22'>Lineage</text>\n",
            height, picture_style);
        for (std::size_t m = 0; m < members_; ++m) {
            svg += fmt::format("<text x='16' y='{:.1f}'>member {}</text>\n", y(m) + 4, m);
        }
        for (std::size_t g = 0; g + 1 < log_.generations.size(); ++g) svg += draw_links(g);
        for (std::size_t g = 0; g < log_.generations.size(); ++g) svg += draw_members(g);
        return svg + fmt::format(
                         "<text x='{}' y='{:.1f}'>generations, from left to right; dark is "
                         "good; thick: the ancestors of the best, member {}</text>\n"
                         "</svg>\n",
                         lineage_left, height - 10, log_.best);
    }

private:
    double x(std::size_t generation) const {
        const std::size_t steps = std::max<std::size_t>(log_.generations.size() - 1, 1);
        return lineage_left + 12 +
               lineage_width * static_cast<double>(generation) / static_cast<double>(steps);
    }
    double y(std::size_t member) const {
        return lineage_top + lineage_row * (static_cast<double>(member) + 0.5);
    }

    std::string draw_links(std::size_t g) const {
        std::string svg;
        for (std::size_t m = 0; m < members_; ++m) {
            const std::uint32_t parent = log_.generations[g][m].parent;
            const bool best = line_[g + 1] == m;
            svg += fmt::format(
                "<line class='{}' x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}' "
                "stroke-width='{}' opacity='{}'/>\n",
                best          ? "s1"
                : parent == m ? "s7"
                              : "s0",
                x(g), y(parent), x(g + 1), y(m), best ? 3 : 1.2, best ? 1 : 0.7);
        }
        return svg;
    }

    std::string draw_members(std::size_t g) const {
        std::string svg;
        for (std::size_t m = 0; m < members_; ++m) {
            const MemberRecord& record = log_.generations[g][m];
            std::string settings;
            for (std::size_t h = 0; h < record.settings.size(); ++h) {
                settings += fmt::format("{} {:.4g}, ", log_.hyperparameters[h], record.settings[h]);
            }
            svg += fmt::format(
                "<circle class='member' cx='{:.1f}' cy='{:.1f}' r='6' fill='{}'><title>member {}, "
                "generation "
                "{}: {}loss {:.5g}</title></circle>\n",
                x(g), y(m), colour(record.score), m, g + 1, escaped_markup(settings), record.score);
        }
        return svg;
    }

    /// By the logarithm of the score: the last steps to the best are small.
    std::string colour(double score) const {
        if (!std::isfinite(score)) return "#ffffff";
        const double floor = low_ > 0 ? 0 : low_ - 1e-9;
        const double all = std::log((high_ - floor) / (low_ - floor));
        const double share = all > 0 ? std::log((score - floor) / (low_ - floor)) / all : 0;
        const int light = 30 + static_cast<int>(62 * std::clamp(share, 0.0, 1.0));
        return fmt::format("hsl(212,60%,{}%)", light);
    }

    const EvolutionLog& log_;
    std::size_t members_;
    std::vector<std::uint32_t> line_;
    double low_ = std::numeric_limits<double>::infinity();
    double high_ = -std::numeric_limits<double>::infinity();
};

}  // namespace

std::string draw_lineage(const EvolutionLog& log) {
    if (log.generations.empty()) throw InvalidArgument("the evolution log has no generations");
    return LineagePicture(log).draw();
}

}  // namespace rondo::training
