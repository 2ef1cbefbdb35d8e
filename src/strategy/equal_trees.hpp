// Few trees of one weight in place of many of different weights.
#pragma once

#include <cstdint>
#include <vector>

#include "strategy/build.hpp"

namespace rondo {

/// Trees of equal weight, so many that repeating them makes nearly `most`, that load no pair of
/// ranks more than `trees` do, as heavy in all as was found; rooted in their middle. For trees
/// whose edges carry the same both ways. Empty when less than `least` of the trees' whole weight
/// would be left.
std::vector<WeightedTree> equal_trees(const std::vector<WeightedTree>& trees, std::uint32_t most,
                                      double least);

}  // namespace rondo
