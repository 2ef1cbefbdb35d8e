// Lays a tree of the reduced network out on the GPUs and links of the topology.
#pragma once

#include "topology/forest/analysis.hpp"
#include "topology/forest/packing.hpp"

namespace rondo::forest {

ForestTree lay_out(const Analysis& analysis, const Weighted<Rational>& packed);

}  // namespace rondo::forest
