// Lays a tree of the reduced network out on the GPUs and links of the topology.
#pragma once

#include "topology/forest/analysis.hpp"
#include "topology/forest/bypass.hpp"
#include "topology/forest/packing.hpp"

namespace rondo::forest {

/// With a bypass, the tree's paths are those of its network.
ForestTree lay_out(const Analysis& analysis, const Weighted<Rational>& packed,
                   const Bypass* bypass = nullptr);

}  // namespace rondo::forest
