// Turns a packing with free roots into a rooted one, for networks without relays.
#pragma once

#include "topology/forest/packing.hpp"

namespace rondo::forest {

/// A rooted packing with the whole weight at one terminal whose trees, taken as undirected ones,
/// solve the free packing. The total must be at most the strength of the network. Capacity that no
/// tree needs is trimmed away first; then any orientation that lets exactly the total enter every
/// terminal but the root will do (Frank 1978).
Packing orient(const Packing& free);

}  // namespace rondo::forest
