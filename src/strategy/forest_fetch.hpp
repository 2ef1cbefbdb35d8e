// A forest in which everybody fetches.
#pragma once

#include <vector>

#include "strategy/build.hpp"

namespace rondo {

/// all_reduce. `trees` become trees of one weight that have at least the part `least` of theirs;
/// they are repeated as often as lanes allow. Without lanes when there are too few for such trees.
Schedule build_fetching(const Strategy& strategy, const Problem& problem,
                        const std::vector<WeightedTree>& trees, double least);

}  // namespace rondo
