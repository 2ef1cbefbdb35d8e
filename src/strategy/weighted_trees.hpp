// Trees as the strategies have them: parents and weights, or what every rank folds.
#pragma once

#include <cstdint>
#include <vector>

#include "strategy/machine_view.hpp"
#include "strategy/tree.hpp"

namespace rondo {

std::uint32_t root_of(const WeightedTree& tree);

/// The same edges with another root.
WeightedTree with_root(WeightedTree tree, std::uint32_t root);

/// Children in the order of ranks, each rank among its own.
Tree folds_of(const WeightedTree& tree);

/// Hops from the root, per rank.
std::vector<std::uint32_t> depths_in(const Tree& tree);

/// Of a rank that is not the root.
std::uint32_t parent_of(const Tree& tree, std::uint32_t rank);

}  // namespace rondo
