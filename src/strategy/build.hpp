// From a strategy to a schedule. Builders are pure functions: the same problem gives the same
// schedule on every rank.
#pragma once

#include <cstdint>
#include <vector>

#include "rondo/schedule.hpp"
#include "rondo/strategy.hpp"

namespace rondo {

/// A spanning tree of the ranks and its part of the data.
struct WeightedTree {
    std::vector<std::uint32_t> parents = {};  ///< of each rank; the root is its own
    double weight = 0;                        ///< in proportion to the others'
};

/// What is to be done, and what of the machine matters for it.
struct Problem {
    Collective collective = Collective::all_reduce;
    std::uint32_t ranks = 1;
    std::uint32_t root = 0;  ///< broadcast: who has the value; reduce: the first destination
    std::vector<std::uint32_t> destinations = {};  ///< reduce and broadcast; empty: everybody
    /// reduce_scatter and all_gather: elements that belong to each rank; empty: all the same.
    std::vector<std::uint64_t> counts = {};
    /// Ranks in an order in which neighbours are well connected; empty: 0, 1, 2...
    std::vector<std::uint32_t> order = {};
    /// Which half of the machine each rank is in, 0 or 1; empty: the first half has the lower
    /// ranks.
    std::vector<std::uint32_t> halves = {};
    /// Centre of centralized strategies; nobody in particular where it is not below `ranks`.
    std::uint32_t centre = UINT32_MAX;
    /// forest: trees for this collective, rooted at `root` for reduce and broadcast, at every rank
    /// for reduce_scatter and all_gather. Empty: the star around each root, which is as good as any
    /// where all are joined by one switch.
    std::vector<WeightedTree> trees = {};
    std::uint32_t lanes = 1;  ///< blocks per rank; 1 also merges phases, for small messages
    std::uint32_t depth = 2;  ///< slots of a channel
    /// forest: units per pair of lanes, which then serve several trees. 0: trees have lanes of
    /// their own where there are enough.
    std::uint32_t units_per_lane = 0;
    /// forest, trees with lanes of their own: leaves send their inputs, which takes lanes but lets
    /// these run ahead. Else their parents read them.
    bool leaves_push = false;
    /// direct in two shots: the root folds the whole message (where units have no owners).
    bool one_folds = false;
    /// forest, all_reduce, trees with lanes of their own: sums wait in outputs until they are
    /// fetched, up the tree and down again; nothing is sent. Where trees fit, else the same as
    /// without.
    bool fetches = false;
};

/// Throws InvalidArgument for a problem that makes no sense, Unsupported where the strategy can't
/// do it. `strategy` must not be automatic, and direct must say its shots.
Schedule build(const Strategy& strategy, const Problem& problem);

}  // namespace rondo
