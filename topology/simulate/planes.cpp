// Finds switches with equal links and adds these up.
#include "topology/simulate/planes.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace rondo {
namespace {

/// The other node, whether it is the source, and all that a link is.
using LinkKey = std::tuple<int, bool, LinkKind, int, std::int64_t, std::int64_t, double>;
using SwitchKey = std::vector<LinkKey>;

std::map<SwitchKey, std::vector<int>> find_planes(const Topology& topology) {
    std::vector<SwitchKey> keys(topology.nodes().size());
    for (const Link& link : topology.links()) {
        const auto add = [&](int node, int other, bool incoming) {
            keys[static_cast<std::size_t>(node)].emplace_back(other, incoming, link.kind,
                                                              link.count, link.nominal, link.nccl,
                                                              link.latency_us.value_or(-1));
        };
        add(link.source, link.target, false);
        add(link.target, link.source, true);
    }
    std::map<SwitchKey, std::vector<int>> planes;
    for (std::size_t node = 0; node < keys.size(); ++node) {
        if (topology.nodes()[node].type != NodeType::network_switch) continue;
        std::ranges::sort(keys[node]);
        planes[keys[node]].push_back(static_cast<int>(node));
    }
    std::erase_if(planes, [](const auto& entry) { return entry.second.size() < 2; });
    return planes;
}

}  // namespace

Topology merge_planes(const Topology& topology) {
    const auto planes = find_planes(topology);
    if (planes.empty()) return topology;
    std::vector<int> width(topology.nodes().size(), 1);  // 0: it is part of another
    for (const auto& [key, switches] : planes) {
        for (const int node : switches) width[static_cast<std::size_t>(node)] = 0;
        width[static_cast<std::size_t>(switches.front())] = static_cast<int>(switches.size());
    }
    std::vector<Node> nodes;
    std::vector<int> place(width.size(), -1);
    for (std::size_t i = 0; i < width.size(); ++i) {
        if (width[i] == 0) continue;
        place[i] = static_cast<int>(nodes.size());
        nodes.push_back(topology.nodes()[i]);
        if (width[i] > 1) nodes.back().id += "+" + std::to_string(width[i] - 1);
    }
    std::vector<Link> links;
    for (const Link& link : topology.links()) {
        const auto source = static_cast<std::size_t>(link.source);
        const auto target = static_cast<std::size_t>(link.target);
        const int factor = width[source] * width[target];
        if (factor == 0) continue;
        Link& merged = links.emplace_back(link);
        merged.source = place[source];
        merged.target = place[target];
        merged.count *= factor;
        merged.nominal *= factor;
        merged.nccl *= factor;
    }
    Topology result(topology.name(), std::move(nodes), std::move(links));
    result.set_description(topology.description());
    result.set_sources(topology.sources());
    result.set_pci_peer_access(topology.pci_peer_access());
    result.set_no_peer_access(topology.no_peer_access());
    return result;
}

}  // namespace rondo
