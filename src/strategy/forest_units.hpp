// How many units of the message each tree of a forest gets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "strategy/build.hpp"

namespace rondo {

/// How far a tree may exceed its share by rounding: the links on it get slower by so much.
inline constexpr double tolerated_excess = 1.01;

/// How many units each tree gets, `least` in all or more: the fewest that are close enough, or the
/// closest.
std::vector<std::uint32_t> unit_counts(const std::vector<WeightedTree>& trees, std::size_t least);

/// Trees, and the tree of each unit.
struct UnitsApart {
    std::vector<WeightedTree> trees = {};
    std::vector<std::uint32_t> tree_of_unit = {};
};

/// As many units as there are lanes for, by weight; none when not even one has. A root needs one
/// lane where other inner ranks need two: each unit gets the root that has most to do so far.
UnitsApart units_apart(const Problem& problem, const std::vector<WeightedTree>& trees);

}  // namespace rondo
