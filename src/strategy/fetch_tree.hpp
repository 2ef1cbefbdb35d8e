// A reduction along a tree in which everybody fetches and nobody sends.
#pragma once

#include <cstdint>
#include <vector>

#include "strategy/tree.hpp"

namespace rondo {

/// The lanes of one unit, by rank.
struct FetchLanes {
    /// A rank folds the parts of its children in these, one after the other: [rank][child].
    std::vector<std::vector<std::uint32_t>> folds = {};
    std::vector<std::uint32_t> fetch = {};  ///< the result from the parent; the root has none
    std::uint32_t wait = 0;                 ///< at every rank: only waits for its peers
};

/// Hops from each rank to the farthest below it.
std::vector<std::uint32_t> heights_in(const Tree& tree);

/// all_reduce of the unit. A rank folds its input and what its children have into its own output,
/// where its parent finds it; the inputs of leaves are read where they are. Then everybody fetches
/// the result from its parent's output. Every step writes to memory of its own rank only, so no
/// block stands still until its writes have arrived elsewhere, and there are no slots to wait for.
/// Parts that are ready sooner are folded first.
void add_fetching(ScheduleBuilder& builder, const Tree& tree, std::uint32_t unit,
                  const FetchLanes& lanes);

}  // namespace rondo
