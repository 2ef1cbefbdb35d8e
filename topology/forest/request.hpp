// What a request asks for, with its defaults filled in and its contradictions refused.
#pragma once

#include <vector>

#include "topology/forest/forest.hpp"
#include "topology/forest/network.hpp"

namespace rondo::forest {

struct Demand {
    std::vector<int> gpus;
    bool free_roots = false;
    /// Root shares per GPU of the allocation, unless they are free.
    std::vector<Units> shares = {};
    Units whole = 0;  ///< the sum of the shares
    /// all_reduce with given shares runs every tree up and then down: half the bandwidth for each.
    int phases = 1;
    bool up = false;    ///< data is reduced from the leaves to the root
    bool down = false;  ///< data is broadcast from the root to the leaves
};

/// Throws ForestError that names the offending value.
Demand resolve(const Topology& topology, const ForestRequest& request);

}  // namespace rondo::forest
