// What is known about a request before trees are built: the network, the best throughput and its
// proof.
#pragma once

#include <memory>
#include <vector>

#include "topology/forest/fixed_roots.hpp"
#include "topology/forest/forest.hpp"
#include "topology/forest/network.hpp"
#include "topology/forest/packing.hpp"
#include "topology/forest/reduction.hpp"
#include "topology/forest/request.hpp"

namespace rondo::forest {

struct Analysis {
    Demand demand;
    PhysicalNetwork physical;
    std::unique_ptr<Reduction> reduction;
    Bound bound;
    /// Root shares that reach the throughput: the demanded ones, or equal ones if these are as good
    /// as free ones. Empty: only trees with free roots do.
    std::vector<Units> shares;
    Ratio scale;  ///< of the shares, with the whole bandwidth for one phase
    /// The best trees, however deep, if finding the throughput took a linear program.
    std::vector<Weighted<Rational>> trees;

    const Network& network() const { return reduction->network(); }
    bool relays() const { return network().vertices > network().terminals; }
};

Analysis analyse(const Topology& topology, const ForestRequest& request);

}  // namespace rondo::forest
