// What strategies share whose units each move along one tree.
#pragma once

#include <functional>

#include "strategy/building.hpp"
#include "strategy/tree.hpp"

namespace rondo {

struct OnTrees {
    std::uint32_t units = 1;
    /// Who folds a unit where the collective leaves that open.
    std::function<std::uint32_t(std::uint32_t unit)> centre = {};
    std::function<Tree(std::uint32_t root)> tree = {};
};

/// Every unit goes up its tree and down again. Variant 0: the way up and the way down have a lane
/// each; 1: they share one.
Schedule build_on_trees(const BuildInput& input, const OnTrees& shape);

/// Two lanes, or one where there is nothing to overlap.
std::vector<std::uint32_t> tree_variants(const BuildInput& input, std::uint64_t bytes);

/// A unit per tree, all at the same time: for trees in which each rank is an inner node once, so
/// that it has one lane for what it folds and passes on, one for what it sends and one for what it
/// gets. The roots are those that the collective demands. Ranks begin with different trees, so that
/// not all of them send to the same rank at the same time.
Schedule build_side_by_side(const BuildInput& input, const std::vector<Tree>& trees);

}  // namespace rondo
