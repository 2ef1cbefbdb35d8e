// Where the nodes of a picture go.
#include "topology/tool/picture_layout.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>

namespace rondo::tool {
namespace {

constexpr double margin = 30;
constexpr double gap_between_boxes = 14;
constexpr double gap_between_rows = 84;
constexpr int most_gpus_in_a_row = 32;

/// Rows before empty ones are left out. PCI switches take pci_row, pci_row + 1, ...
constexpr int network_row = 0;
constexpr int gpu_nic_row = 1;
constexpr int cpu_row = 2;
constexpr int pci_row = 3;
constexpr int leaf_row = 1000;
constexpr int port_row = 1001;
constexpr int fabric_row = 1002;

class Rows {
public:
    explicit Rows(const Topology& topology)
        : topology_(topology),
          nodes_(topology.nodes()),
          neighbours_(nodes_.size()),
          kinds_(nodes_.size(), 0),
          below_pci_(nodes_.size(), false) {
        for (const Link& link : topology.links()) {
            note(link, link.source, link.target);
            note(link, link.target, link.source);
        }
    }

    Layout lay_out() {
        layout_.centres.resize(nodes_.size());
        layout_.box_width = box_width();
        assign_rows();
        if (crowded()) {
            place_in_circle();
        } else {
            place_in_rows();
        }
        return std::move(layout_);
    }

private:
    bool has_link(int node, LinkKind kind) const {
        return (kinds_[node] >> static_cast<int>(kind) & 1) != 0;
    }

    void note(const Link& link, int node, int other) {
        neighbours_[node].push_back(other);
        kinds_[node] |= 1u << static_cast<int>(link.kind);
        const bool down = link.kind == LinkKind::pci && nodes_[other].type != NodeType::gpu;
        below_pci_[node] = below_pci_[node] || down;
    }

    double box_width() const {
        std::size_t longest = 5;
        for (const Node& node : nodes_) longest = std::max(longest, node.id.size());
        return 14 + 7.5 * static_cast<double>(std::min(longest, longest_label));
    }

    /// Levels of PCI switches, counted from the CPUs.
    std::vector<int> pci_levels() const {
        std::vector<int> level(nodes_.size(), -1);
        std::vector<int> queue;
        for (std::size_t node = 0; node < nodes_.size(); ++node) {
            if (nodes_[node].type != NodeType::cpu) continue;
            level[node] = 0;
            queue.push_back(static_cast<int>(node));
        }
        for (std::size_t next = 0; next < queue.size(); ++next) {
            for (const int other : neighbours_[queue[next]]) {
                if (level[other] >= 0 || nodes_[other].type != NodeType::network_switch) continue;
                if (!has_link(other, LinkKind::pci)) continue;
                level[other] = level[queue[next]] + 1;
                queue.push_back(other);
            }
        }
        return level;
    }

    /// Per node: the CPU that it is nearest to, -1 where there is none.
    std::vector<int> nearest_cpus() const {
        std::vector<int> cpu(nodes_.size(), -1);
        std::vector<int> queue;
        for (std::size_t node = 0; node < nodes_.size(); ++node) {
            if (nodes_[node].type != NodeType::cpu) continue;
            cpu[node] = static_cast<int>(node);
            queue.push_back(cpu[node]);
        }
        for (std::size_t next = 0; next < queue.size(); ++next) {
            for (const int other : neighbours_[queue[next]]) {
                if (cpu[other] >= 0) continue;
                cpu[other] = cpu[queue[next]];
                queue.push_back(other);
            }
        }
        return cpu;
    }

    int row_of(int node, int pci_level) const {
        switch (nodes_[node].type) {
            case NodeType::gpu:
                return leaf_row;
            case NodeType::cpu:
                return cpu_row;
            case NodeType::nic:
                if (below_pci_[node]) return leaf_row;
                return has_link(node, LinkKind::pci) ? gpu_nic_row : port_row;
            case NodeType::network_switch:
                break;
        }
        if (has_link(node, LinkKind::network)) return network_row;
        if (!has_link(node, LinkKind::pci)) return fabric_row;
        return pci_row + std::clamp(pci_level - 1, 0, 16);
    }

    /// Numbers the rows that are used from 0.
    void assign_rows() {
        const std::vector<int> levels = pci_levels();
        std::map<int, int> number;
        for (std::size_t node = 0; node < nodes_.size(); ++node) {
            layout_.rows.push_back(row_of(static_cast<int>(node), levels[node]));
            number[layout_.rows.back()] = 0;
        }
        int next = 0;
        for (auto& [row, index] : number) index = next++;
        for (int& row : layout_.rows) row = number.at(row);
        layout_.gpu_row = number.at(leaf_row);
        row_count_ = next;
    }

    bool crowded() const {
        const int others = static_cast<int>(nodes_.size()) - topology_.gpu_count();
        return topology_.gpu_count() > most_gpus_in_a_row && 4 * others <= topology_.gpu_count();
    }

    void place_in_circle() {
        const int gpus = topology_.gpu_count();
        const double step = layout_.box_width + gap_between_boxes;
        const double radius = gpus * step / (2 * std::numbers::pi);
        const Point middle{radius + layout_.box_width + margin,
                           radius + layout_.box_height + margin};
        for (int gpu = 0; gpu < gpus; ++gpu) {
            const double angle = 2 * std::numbers::pi * gpu / gpus - std::numbers::pi / 2;
            layout_.centres[topology_.gpu_node(gpu)] = {middle.x + radius * std::cos(angle),
                                                        middle.y + radius * std::sin(angle)};
        }
        std::vector<int> others;
        for (std::size_t node = 0; node < nodes_.size(); ++node) {
            if (nodes_[node].type != NodeType::gpu) others.push_back(static_cast<int>(node));
        }
        const double spread = others.size() < 2 ? 0 : radius / 2;
        for (std::size_t i = 0; i < others.size(); ++i) {
            const double angle = 2 * std::numbers::pi * static_cast<double>(i) / others.size();
            layout_.centres[others[i]] = {middle.x + spread * std::cos(angle),
                                          middle.y + spread * std::sin(angle)};
        }
        std::ranges::fill(layout_.rows, -1);
        layout_.width = 2 * middle.x;
        layout_.height = 2 * middle.y;
    }

    void place_in_rows() {
        placed_.assign(nodes_.size(), false);
        place_leaves();
        for (int row = layout_.gpu_row - 1; row >= 0; --row) place_row(row);
        for (int row = layout_.gpu_row + 1; row < row_count_; ++row) place_row(row);
        set_heights();
        double left = 0;
        for (const Point& centre : layout_.centres) left = std::min(left, centre.x);
        for (Point& centre : layout_.centres) {
            centre.x += margin + layout_.box_width / 2 - left;
            layout_.width = std::max(layout_.width, centre.x + layout_.box_width / 2 + margin);
        }
    }

    /// GPUs in their order; other devices behind the last one below the same switch or CPU.
    void place_leaves() {
        std::vector<int> order;
        for (int gpu = 0; gpu < topology_.gpu_count(); ++gpu) {
            order.push_back(topology_.gpu_node(gpu));
        }
        const std::vector<int> cpu = nearest_cpus();
        for (std::size_t node = 0; node < nodes_.size(); ++node) {
            const bool gpu = nodes_[node].type == NodeType::gpu;
            if (layout_.rows[node] != layout_.gpu_row || gpu) continue;
            const auto last = [&](const auto& related) {
                return std::find_if(order.rbegin(), order.rend(), related).base();
            };
            auto place = last([&](int other) {
                return std::ranges::find_first_of(neighbours_[other], neighbours_[node]) !=
                       neighbours_[other].end();
            });
            if (place == order.begin()) place = last([&](int o) { return cpu[o] == cpu[node]; });
            if (place == order.begin()) place = order.end();
            order.insert(place, static_cast<int>(node));
        }
        for (std::size_t i = 0; i < order.size(); ++i) {
            layout_.centres[order[i]].x =
                static_cast<double>(i) * (layout_.box_width + gap_between_boxes);
            placed_[order[i]] = true;
        }
    }

    double wanted_place(int node) const {
        double sum = 0;
        int count = 0;
        for (const int other : neighbours_[node]) {
            if (!placed_[other]) continue;
            sum += layout_.centres[other].x;
            ++count;
        }
        return count == 0 ? 0 : sum / count;
    }

    /// As near as possible to the neighbours placed already, in their order, without overlap: the
    /// least squares of the distances (pool adjacent violators).
    void place_row(int row) {
        std::vector<std::pair<double, int>> wanted;
        for (std::size_t node = 0; node < nodes_.size(); ++node) {
            if (layout_.rows[node] == row) {
                wanted.emplace_back(wanted_place(static_cast<int>(node)), static_cast<int>(node));
            }
        }
        std::ranges::sort(wanted);
        const double step = layout_.box_width + gap_between_boxes;
        std::vector<std::pair<double, int>> pools;  // mean, size
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            pools.emplace_back(wanted[i].first - static_cast<double>(i) * step, 1);
            while (pools.size() > 1 && pools[pools.size() - 2].first > pools.back().first) {
                const auto [mean, size] = pools.back();
                pools.pop_back();
                auto& [before, count] = pools.back();
                before = (before * count + mean * size) / (count + size);
                count += size;
            }
        }
        std::size_t next = 0;
        for (const auto& [mean, size] : pools) {
            for (int i = 0; i < size; ++i, ++next) {
                layout_.centres[wanted[next].second].x = mean + static_cast<double>(next) * step;
                placed_[wanted[next].second] = true;
            }
        }
    }

    /// Arcs bend down below the GPUs and the fabric's switches, up above the others.
    double deepest_arc(int row) const {
        double deepest = 0;
        for (const Link& link : topology_.links()) {
            if (layout_.rows[link.source] != row || layout_.rows[link.target] != row) continue;
            const double distance =
                std::abs(layout_.centres[link.source].x - layout_.centres[link.target].x);
            deepest = std::max(deepest, arc_depth(distance));
        }
        return deepest;
    }

    void set_heights() {
        double y = margin;
        for (int row = 0; row < row_count_; ++row) {
            const double room = deepest_arc(row);
            const bool above = row < layout_.gpu_row;
            y += layout_.box_height / 2 + (above ? room : 0);
            for (std::size_t node = 0; node < nodes_.size(); ++node) {
                if (layout_.rows[node] == row) layout_.centres[node].y = y;
            }
            y += layout_.box_height / 2 + (above ? 0 : room);
            if (row + 1 < row_count_) y += gap_between_rows;
        }
        layout_.height = y + margin;
    }

    const Topology& topology_;
    const std::vector<Node>& nodes_;
    std::vector<std::vector<int>> neighbours_;
    std::vector<unsigned> kinds_;  ///< per node: bits of the kinds of its links
    std::vector<bool> below_pci_;  ///< per node: has a PCI link to something that is no GPU
    Layout layout_;
    int row_count_ = 0;
    std::vector<bool> placed_;
};

}  // namespace

double arc_depth(double distance) {
    constexpr double near = 400;
    return 14 + 0.3 * std::min(distance, near) + 0.1 * std::max(0.0, distance - near);
}

Layout lay_out(const Topology& topology) {
    return Rows(topology).lay_out();
}

}  // namespace rondo::tool
