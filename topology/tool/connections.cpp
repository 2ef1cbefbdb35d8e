// How each pair of GPUs is connected, in the words of `nvidia-smi topo -m`.
#include "topology/tool/connections.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace rondo::tool {
namespace {

/// What a way may use.
struct Rule {
    std::vector<LinkKind> kinds;
    std::vector<NodeType> through;
    int most_nodes = std::numeric_limits<int>::max();  ///< nodes passed
    const char* word = "";
    bool counted = false;  ///< the word is followed by the number of links
};

const std::array<Rule, 8>& rules() {
    using enum LinkKind;
    using enum NodeType;
    static const std::array<Rule, 8> all{{
        {{nvlink}, {network_switch}, 8, "NV", true},
        {{xgmi}, {network_switch}, 8, "XGMI", true},
        {{memory}, {network_switch}, 8, "MEM", false},
        {{pci}, {network_switch}, 1, "PIX", false},
        {{pci}, {network_switch}, 8, "PXB", false},
        {{pci, chip_to_chip, nvlink}, {network_switch, cpu}, 8, "PHB", false},
        {{pci, chip_to_chip, nvlink, inter_socket}, {network_switch, cpu}, 16, "SYS", false},
        {{pci, chip_to_chip, nvlink, inter_socket, network},
         {network_switch, cpu, nic},
         64,
         "NET",
         false},
    }};
    return all;
}

template <class Values, class Value>
bool contains(const Values& values, const Value& value) {
    return std::ranges::find(values, value) != values.end();
}

class Search {
public:
    explicit Search(const Topology& topology)
        : topology_(topology), leaving_(topology.nodes().size()) {
        for (std::size_t link = 0; link < topology.links().size(); ++link) {
            leaving_[topology.links()[link].source].push_back(static_cast<int>(link));
        }
    }

    /// Per node: how many links lead there, 0 where there is no way.
    std::vector<int> reach(int from, const Rule& rule) const {
        std::vector<int> nodes_passed(topology_.nodes().size(), -1);
        std::vector<int> links(topology_.nodes().size(), 0);
        std::vector<int> direct(topology_.nodes().size(), 0);
        std::vector<int> queue{from};
        nodes_passed[from] = 0;
        for (std::size_t next = 0; next < queue.size(); ++next) {
            const int at = queue[next];
            for (const int index : leaving_[at]) {
                const Link& link = topology_.links()[index];
                if (!contains(rule.kinds, link.kind) || link.target == from) continue;
                if (at == from) links[link.target] = direct[link.target] += link.count;
                if (nodes_passed[link.target] >= 0) {
                    if (at != from) add_plane(links, nodes_passed, at, link);
                    continue;
                }
                if (at != from) links[link.target] = std::min(links[at], link.count);
                nodes_passed[link.target] = nodes_passed[at] + 1;
                const bool pass = contains(rule.through, topology_.nodes()[link.target].type) &&
                                  nodes_passed[link.target] <= rule.most_nodes;
                if (pass) queue.push_back(link.target);
            }
        }
        return links;
    }

private:
    /// Another switch that leads to the same GPU adds its links.
    void add_plane(std::vector<int>& links, const std::vector<int>& nodes_passed, int at,
                   const Link& link) const {
        const bool gpu = topology_.nodes()[link.target].type == NodeType::gpu;
        if (gpu && nodes_passed[link.target] == nodes_passed[at] + 1) {
            links[link.target] += std::min(links[at], link.count);
        }
    }

    const Topology& topology_;
    std::vector<std::vector<int>> leaving_;
};

}  // namespace

std::vector<std::vector<std::string>> connections(const Topology& topology) {
    const Search search(topology);
    const int gpus = topology.gpu_count();
    std::vector<std::vector<std::string>> cells(gpus, std::vector<std::string>(gpus, "-"));
    for (int from = 0; from < gpus; ++from) {
        cells[from][from] = "X";
        for (const Rule& rule : rules()) {
            const std::vector<int> links = search.reach(topology.gpu_node(from), rule);
            for (int to = 0; to < gpus; ++to) {
                const int count = links[topology.gpu_node(to)];
                if (count == 0 || cells[from][to] != "-") continue;
                cells[from][to] = rule.word + (rule.counted ? std::to_string(count) : "");
            }
        }
    }
    return cells;
}

}  // namespace rondo::tool
