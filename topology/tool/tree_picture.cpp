// The trees of a forest as a picture that a browser shows.
#include "topology/tool/tree_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>

#include "base/markup.hpp"
#include "topology/tool/picture_layout.hpp"
#include "topology/tool/wiring.hpp"

namespace rondo::tool {
namespace {

constexpr std::size_t columns = 4;
constexpr std::size_t most_panels = 8;
constexpr double panel_side = 212, circle = 74, gpu_radius = 13, title_height = 62;

class TreePicture {
public:
    TreePicture(const Topology& topology, const BoundReport& report)
        : topology_(topology), report_(report) {}

    std::string text() {
        const auto& trees = report_.forest.trees;
        const std::size_t panels = std::min(trees.size() + 1, most_panels);
        const auto rows = static_cast<double>((panels + columns - 1) / columns);
        open(panel_side * columns, title_height + panel_side * rows);
        draw_panel(0, "links between the GPUs", nullptr);
        for (std::size_t i = 0; i + 1 < panels; ++i) {
            const double share =
                Rational(trees[i].weight / report_.forest.throughput).convert_to<double>();
            draw_panel(i + 1, fmt::format("tree {}: {:.1f} % of the data", i + 1, 100 * share),
                       &trees[i]);
        }
        return text_ + "</svg>\n";
    }

private:
    template <class... Values>
    void write(fmt::format_string<Values...> format, Values&&... values) {
        fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
    }

    void open(double width, double height) {
        write(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
            "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" font-family=\"DejaVu Sans, Verdana, "
            "sans-serif\" font-size=\"12\">\n<title>{2}</title>\n"
            "<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"5\" "
            "markerHeight=\"5\" orient=\"auto\"><path d=\"M0,0 L8,4 L0,8 z\" fill=\"#c2410c\"/>"
            "</marker></defs>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
            width, height, escaped_markup(report_.topology));
        write("<text x=\"20\" y=\"26\" font-size=\"17\" font-weight=\"bold\">{}</text>\n",
              escaped_markup(report_.topology));
        const std::size_t trees = report_.forest.trees.size();
        const std::size_t shown = std::min(trees, most_panels - 1);
        write(
            "<text x=\"20\" y=\"48\" fill=\"#444\">all_reduce along {} tree{} at {:.1f} GB/s{}{}"
            "</text>\n",
            trees, trees == 1 ? "" : "s", gigabytes(report_.forest.throughput),
            report_.all_reduce().exact() ? ", which no set of trees exceeds" : "",
            shown < trees ? fmt::format("; the {} heaviest are shown", shown) : "");
    }

    Point place(std::size_t panel, int gpu) const {
        const auto found = std::ranges::find(report_.gpus, gpu);
        const auto index = static_cast<double>(found - report_.gpus.begin());
        const double angle =
            2 * std::numbers::pi * (index + 0.5) / static_cast<double>(report_.gpus.size()) -
            std::numbers::pi / 2;
        return {
            (static_cast<double>(panel % columns) + 0.5) * panel_side + circle * std::cos(angle),
            title_height + (static_cast<double>(panel / columns) + 0.45) * panel_side +
                circle * std::sin(angle)};
    }

    /// Without tree: the cables in colour.
    void draw_panel(std::size_t panel, const std::string& label, const ForestTree* tree) {
        draw_cables(panel, tree == nullptr ? "#4d9a12" : "#e2e2e2");
        if (tree != nullptr) {
            for (const ForestEdge& edge : tree->edges) draw_edge(panel, edge);
        }
        for (const int gpu : report_.gpus) {
            draw_gpu(panel, gpu, tree != nullptr && gpu == tree->root);
        }
        write("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
              (static_cast<double>(panel % columns) + 0.5) * panel_side,
              title_height + static_cast<double>(panel / columns + 1) * panel_side - 12, label);
    }

    void draw_cables(std::size_t panel, const char* colour) {
        for (const int a : report_.gpus) {
            for (const int b : report_.gpus) {
                for (const Cable& cable : cables_) {
                    if (cable.a != topology_.gpu_node(a) || cable.b != topology_.gpu_node(b)) {
                        continue;
                    }
                    const Point from = place(panel, a), to = place(panel, b);
                    write(
                        "<path d=\"M{:.1f},{:.1f} L{:.1f},{:.1f}\" stroke=\"{}\" "
                        "stroke-width=\"{}\"/>\n",
                        from.x, from.y, to.x, to.y, colour, std::min(2 * cable.count, 8));
                }
            }
        }
    }

    void draw_edge(std::size_t panel, const ForestEdge& edge) {
        const Point from = place(panel, edge.parent), to = place(panel, edge.child);
        const double length = std::hypot(to.x - from.x, to.y - from.y);
        const double kept = std::max(length - gpu_radius, 1.0) / std::max(length, 1.0);
        write(
            "<path d=\"M{:.1f},{:.1f} L{:.1f},{:.1f}\" stroke=\"#c2410c\" stroke-width=\"2.5\" "
            "marker-end=\"url(#head)\"/>\n",
            from.x, from.y, from.x + (to.x - from.x) * kept, from.y + (to.y - from.y) * kept);
    }

    void draw_gpu(std::size_t panel, int gpu, bool is_root) {
        const Point at = place(panel, gpu);
        write(
            "<g><circle cx=\"{0:.1f}\" cy=\"{1:.1f}\" r=\"{2}\" fill=\"{3}\" stroke=\"#333\"/>"
            "<text x=\"{0:.1f}\" y=\"{4:.1f}\" text-anchor=\"middle\" fill=\"{5}\">{6}</text></g>"
            "\n",
            at.x, at.y, gpu_radius, is_root ? "#c2410c" : "#e4f2d5", at.y + 4,
            is_root ? "white" : "black", gpu);
    }

    const Topology& topology_;
    const BoundReport& report_;
    std::vector<Cable> cables_ = cables(topology_);
    std::string text_;
};

}  // namespace

std::string tree_picture(const Topology& topology, const BoundReport& report) {
    return TreePicture(topology, report).text();
}

}  // namespace rondo::tool
