// Packs trees by taking the heaviest shallow one that leaves the rest packable, again and again.
#pragma once

#include <vector>

#include "topology/forest/packing.hpp"

namespace rondo::forest {

struct Peeled {
    std::vector<Weighted<Units>> trees;
    Packing rest;  ///< packable; its total is 0 unless the search got stuck
};

/// The packing must be rooted and packable. Fast and shallow, but may get stuck. Deterministic for
/// a given seed.
Peeled peel(Packing packing, unsigned seed);

}  // namespace rondo::forest
