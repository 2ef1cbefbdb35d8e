// The links of a topology as people see them: one cable for the two directions.
#pragma once

#include <string>
#include <vector>

#include "topology/graph/topology.hpp"

namespace rondo::tool {

/// Both directions of the links of one kind between two nodes, or a single direction.
struct Cable {
    int a = 0;  ///< node indices; a -> b is the direction that comes first in the topology
    int b = 0;
    LinkKind kind = LinkKind::nvlink;
    int count = 0;
    std::int64_t nominal = 0;  ///< bytes per second from a to b
    std::int64_t nccl = 0;
    bool both_ways = false;  ///< there is a link back, and it is the same

    /// Whether two cables differ in nothing but their ends.
    bool alike(const Cable& other) const;
};

/// In the order of the links. Two links that are not the same both ways give two cables.
std::vector<Cable> cables(const Topology& topology);

/// "25 GB/s (20 in NCCL's model)"
std::string bandwidth_text(const Cable& cable);

/// "NVLink", "PCI Express", ...
std::string_view kind_name(LinkKind kind);

}  // namespace rondo::tool
