// Ring orders and halves on a topology.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/simulate/routes.hpp"

namespace rondo {

/// An order of the ranks whose narrowest hop, the last to the first included, is as wide as a
/// bounded search finds; among those, wide hops come first.
std::vector<std::uint32_t> find_ring_order(const Routing& routing);

/// Which half of the machine each rank is in, 0 or 1: ranks that are well connected stay together.
std::vector<std::uint32_t> find_halves(const Routing& routing);

}  // namespace rondo
