// Compares topologies without regard to the order of nodes and links, with readable differences.
#pragma once

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "topology/graph/json.hpp"

namespace rondo::testing {

/// Every line of the JSON form (one per node and link), sorted.
inline std::vector<std::string> sorted_lines(Topology topology) {
    topology.set_description("");
    topology.set_sources({});
    std::istringstream text(topology_to_json(topology));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) {
        if (line.ends_with(',')) line.pop_back();
        lines.push_back(line);
    }
    std::ranges::sort(lines);
    return lines;
}

inline const Link* find_link(const Topology& topology, std::string_view source,
                             std::string_view target, LinkKind kind) {
    const auto from = topology.find_node(source);
    const auto to = topology.find_node(target);
    for (const Link& link : topology.links()) {
        if (link.source == from && link.target == to && link.kind == kind) return &link;
    }
    return nullptr;
}

inline const Node& node_of(const Topology& topology, std::string_view id) {
    const auto index = topology.find_node(id);
    if (!index) throw std::out_of_range("there is no node " + std::string(id));
    return topology.nodes()[static_cast<std::size_t>(*index)];
}

}  // namespace rondo::testing
