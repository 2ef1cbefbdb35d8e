// Trees of one weight in place of many of different weights.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "strategy/build.hpp"

namespace rondo {

struct EqualTreesOptions {
    std::uint32_t most = 1;  ///< trees
    double least = 0;        ///< of the given trees' whole weight
    /// Among sets that are about as heavy: many trees. Else few, so many that repeating them makes
    /// nearly `most`.
    bool many = false;
    /// Whether a set will do. Empty: any.
    std::function<bool(const std::vector<WeightedTree>&)> accept = {};
};

/// Trees of equal weight that load no pair of ranks more than `trees` do, as heavy in all as was
/// found, shallow, rooted in their middle. For trees whose edges carry the same both ways. Empty
/// when less than `least` would be left.
std::vector<WeightedTree> equal_trees(const std::vector<WeightedTree>& trees,
                                      const EqualTreesOptions& options);

}  // namespace rondo
