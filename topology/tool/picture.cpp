// A topology as a picture that a browser shows.
#include "topology/tool/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/markup.hpp"
#include "topology/graph/names.hpp"
#include "topology/tool/picture_layout.hpp"
#include "topology/tool/wiring.hpp"

namespace rondo::tool {
namespace {

constexpr double title_height = 34;
constexpr double line_height = 20;
constexpr double side = 30;

/// At most `longest` characters, the last one an ellipsis if there are more.
std::string label(const std::string& id) {
    std::size_t characters = 0;
    for (std::size_t at = 0; at < id.size(); ++at) {
        if ((static_cast<unsigned char>(id[at]) & 0xc0) == 0x80) continue;
        if (++characters > longest_label) return id.substr(0, at) + "…";
    }
    return id;
}

unsigned base_colour(LinkKind kind) {
    switch (kind) {
        case LinkKind::nvlink:
            return 0x4f9a10;
        case LinkKind::xgmi:
            return 0xc8102e;
        case LinkKind::pci:
            return 0x2f6fb5;
        case LinkKind::inter_socket:
            return 0xd98200;
        case LinkKind::network:
            return 0x7b3fa0;
        case LinkKind::memory:
            return 0x777777;
        case LinkKind::chip_to_chip:
            return 0x0a8f8f;
    }
    return 0;
}

const char* fill_of(NodeType type) {
    switch (type) {
        case NodeType::gpu:
            return "#e3f2d3";
        case NodeType::network_switch:
            return "#e6e6e6";
        case NodeType::cpu:
            return "#fdebcf";
        case NodeType::nic:
            return "#ecdff4";
    }
    return "white";
}

/// Lines of at most `width` characters.
std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        std::size_t end = text.size();
        if (end > width) {
            const std::size_t blank = text.rfind(' ', width);
            end = blank == std::string_view::npos || blank == 0 ? text.find(' ') : blank;
            end = std::min(end, text.size());
        }
        lines.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

class Picture {
public:
    explicit Picture(const Topology& topology)
        : topology_(topology), layout_(lay_out(topology)), cables_(cables(topology)) {
        for (const Cable& cable : cables_) {
            const bool at_gpu = topology.nodes()[cable.a].type == NodeType::gpu ||
                                topology.nodes()[cable.b].type == NodeType::gpu;
            if (at_gpu) fastest_ = std::max(fastest_, static_cast<double>(cable.nominal));
            if (std::ranges::none_of(groups_, [&](const Cable& g) { return g.alike(cable); })) {
                groups_.push_back(cable);
            }
        }
        std::ranges::stable_sort(groups_, std::ranges::greater{}, &Cable::nominal);
    }

    std::string text() {
        const double width = std::max(layout_.width, 520.0);
        const auto description =
            wrapped(topology_.description(), static_cast<std::size_t>((width - 2 * side) / 6.2));
        top_ = title_height + line_height * static_cast<double>(description.size());
        left_ = (width - layout_.width) / 2;
        const double legend = layout_.height + top_;
        const double height = legend + line_height * static_cast<double>(groups_.size()) + 16;
        write(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
            "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" font-family=\"DejaVu Sans, Verdana, "
            "sans-serif\" font-size=\"12\">\n<title>{2}</title>\n"
            "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
            width, height, escaped_markup(topology_.name()));
        write("<text x=\"{}\" y=\"26\" font-size=\"17\" font-weight=\"bold\">{}</text>\n", side,
              escaped_markup(topology_.name()));
        for (std::size_t i = 0; i < description.size(); ++i) {
            write("<text x=\"{}\" y=\"{:.1f}\" fill=\"#444\">{}</text>\n", side,
                  title_height + 12 + line_height * static_cast<double>(i),
                  escaped_markup(description[i]));
        }
        draw_cables();
        for (std::size_t node = 0; node < topology_.nodes().size(); ++node) draw_node(node);
        draw_legend(legend);
        return text_ + "</svg>\n";
    }

private:
    template <class... Values>
    void write(fmt::format_string<Values...> format, Values&&... values) {
        fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
    }

    Point centre(int node) const {
        return {layout_.centres[node].x + left_, layout_.centres[node].y + top_};
    }

    /// Up to 6 for the fastest, by the logarithm: links differ a hundredfold. Less where there are
    /// many lines.
    double stroke_of(const Cable& cable) const {
        const double part = std::min(1.0, static_cast<double>(cable.nominal) / fastest_);
        const double most = layout_.rows[cable.a] < 0 ? 2.5 : 6;
        return std::max(1.2, most + 2 * std::log2(std::max(part, 1e-9)));
    }

    /// The colour of its kind; the paler, the more cables of this kind are faster.
    std::string colour_of(const Cable& cable) const {
        const auto faster = std::ranges::count_if(groups_, [&](const Cable& other) {
            return other.kind == cable.kind && other.nominal > cable.nominal;
        });
        const unsigned full = base_colour(cable.kind);
        const unsigned white = 40 * static_cast<unsigned>(std::min<std::ptrdiff_t>(faster, 3));
        const auto mixed = [&](int shift) {
            const unsigned part = full >> shift & 0xff;
            return part + (255 - part) * white / 255;
        };
        return fmt::format("#{:02x}{:02x}{:02x}", mixed(16), mixed(8), mixed(0));
    }

    std::string style_of(const Cable& cable) const {
        std::string style = fmt::format("stroke=\"{}\" stroke-width=\"{:.1f}\" fill=\"none\"",
                                        colour_of(cable), stroke_of(cable));
        if (!cable.both_ways) style += " stroke-dasharray=\"7 4\"";
        return style;
    }

    std::string tooltip(const Cable& cable) const {
        return escaped_markup(fmt::format(
            "{} {} {}: {} x{}, {}{}", topology_.nodes()[cable.a].id, cable.both_ways ? "-" : "to",
            topology_.nodes()[cable.b].id, kind_name(cable.kind), cable.count,
            bandwidth_text(cable), cable.both_ways ? " each way" : ""));
    }

    /// Where on a node's edge each cable begins, so that lines do not lie on each other.
    struct Ends {
        Point a;
        Point b;
    };

    bool arc(const Cable& cable) const {
        return layout_.rows[cable.a] >= 0 && layout_.rows[cable.a] == layout_.rows[cable.b];
    }

    /// Which side of the node the cable leaves: -1 above, 1 below.
    int side_of(int node, int other) const {
        const int row = layout_.rows[node];
        if (row != layout_.rows[other]) return row > layout_.rows[other] ? -1 : 1;
        return row < layout_.gpu_row ? -1 : 1;
    }

    /// From left to right: arcs to the left, near ones first; lines by where they end; arcs to the
    /// right, far ones first. So arcs of one node do not cross.
    double rank(const Cable& cable, int node, int other) const {
        const double distance = centre(other).x - centre(node).x;
        constexpr double far = 1e6;
        if (!arc(cable)) return distance;
        return distance < 0 ? -far - distance : far - distance;
    }

    std::vector<Ends> spread_ends() const {
        std::vector<Ends> ends(cables_.size());
        struct End {
            double rank;
            Point* point;
        };
        std::vector<std::vector<End>> sides(2 * topology_.nodes().size());
        for (std::size_t i = 0; i < cables_.size(); ++i) {
            const auto& [a, b] = std::pair(cables_[i].a, cables_[i].b);
            ends[i] = {centre(a), centre(b)};
            if (layout_.rows[a] < 0) continue;
            for (const bool first : {true, false}) {
                const int node = first ? a : b;
                const int other = first ? b : a;
                Point& point = first ? ends[i].a : ends[i].b;
                const int direction = side_of(node, other);
                point.y += direction * layout_.box_height / 2;
                sides[2 * node + (direction > 0 ? 1 : 0)].push_back(
                    {rank(cables_[i], node, other), &point});
            }
        }
        for (auto& side_ends : sides) {
            std::ranges::sort(side_ends, {}, &End::rank);
            const double room = layout_.box_width - 12;
            const double step = room / static_cast<double>(side_ends.size());
            for (std::size_t i = 0; i < side_ends.size(); ++i) {
                side_ends[i].point->x += (static_cast<double>(i) + 0.5) * step - room / 2;
            }
        }
        return ends;
    }

    void draw_cables() {
        const std::vector<Ends> ends = spread_ends();
        for (std::size_t i = 0; i < cables_.size(); ++i) {
            const auto& [a, b] = ends[i];
            write("<path d=\"M{:.1f} {:.1f}", a.x, a.y);
            if (arc(cables_[i])) {
                const int direction = side_of(cables_[i].a, cables_[i].b);
                const double bend = direction * 4.0 / 3 * arc_depth(std::abs(a.x - b.x));
                write(" C{:.1f} {:.1f} {:.1f} {:.1f}", a.x, a.y + bend, b.x, b.y + bend);
            } else {
                write(" L");
            }
            write(" {:.1f} {:.1f}\" {}><title>{}</title></path>\n", b.x, b.y, style_of(cables_[i]),
                  tooltip(cables_[i]));
        }
    }

    void draw_node(std::size_t index) {
        const Node& node = topology_.nodes()[index];
        const Point at = centre(static_cast<int>(index));
        std::string details = fmt::format("{} {}", to_string(node.type), node.id);
        for (const std::string& part : {node.gpu.model, node.gpu.bus_id}) {
            if (!part.empty()) details += ", " + part;
        }
        write(
            "<g><title>{}</title><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
            "height=\"{:.1f}\" rx=\"5\" fill=\"{}\" stroke=\"#333\"/><text x=\"{:.1f}\" "
            "y=\"{:.1f}\" text-anchor=\"middle\">{}</text></g>\n",
            escaped_markup(details), at.x - layout_.box_width / 2, at.y - layout_.box_height / 2,
            layout_.box_width, layout_.box_height, fill_of(node.type), at.x, at.y + 4.5,
            escaped_markup(label(node.id)));
    }

    void draw_legend(double top) {
        for (std::size_t i = 0; i < groups_.size(); ++i) {
            const Cable& group = groups_[i];
            const auto alike =
                std::ranges::count_if(cables_, [&](const Cable& c) { return c.alike(group); });
            const double y = top + line_height * static_cast<double>(i);
            write(
                "<path d=\"M{} {:.1f} h36\" {}/><text x=\"{}\" y=\"{:.1f}\">{} x{}: {}{} "
                "<tspan fill=\"#666\">({} {})</tspan></text>\n",
                side, y, style_of(group), side + 46, y + 4, kind_name(group.kind), group.count,
                escaped_markup(bandwidth_text(group)), group.both_ways ? " each way" : ", one way",
                alike, alike == 1 ? "line" : "lines");
        }
    }

    const Topology& topology_;
    Layout layout_;
    std::vector<Cable> cables_;
    std::vector<Cable> groups_;  ///< one of each sort, fastest first
    double fastest_ = 1;         ///< of the cables at GPUs
    double top_ = 0;
    double left_ = 0;
    std::string text_;
};

}  // namespace

std::string picture(const Topology& topology) {
    return Picture(topology).text();
}

}  // namespace rondo::tool
