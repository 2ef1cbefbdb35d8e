// A rank's first lane waits for its peers, then come folds and fetches, unit by unit, at last the
// fetches of leaves.
#include "strategy/fetch_lanes.hpp"

#include <algorithm>

namespace rondo {
namespace {

constexpr std::uint32_t leaves_per_lane = 2;

/// What a rank does in all units.
struct RankWork {
    std::uint32_t parts = 0;    ///< that it folds
    std::uint32_t fetches = 0;  ///< for itself and its children
    std::uint32_t leaves = 0;   ///< units in which it has none

    RankWork(const std::vector<Tree>& trees, std::uint32_t rank) {
        for (const Tree& tree : trees) {
            const auto children = static_cast<std::uint32_t>(tree.folds[rank].size() - 1);
            parts += children;
            fetches += children > 0 && rank != tree.root ? 1 : 0;
            leaves += children == 0 ? 1 : 0;
        }
    }

    /// All but those of leaves.
    std::uint32_t own_lanes() const { return 1 + parts + fetches; }
    std::uint32_t least_leaf_lanes() const {
        return (leaves + leaves_per_lane - 1) / leaves_per_lane;
    }
};

void deal(const std::vector<Tree>& trees, std::uint32_t rank, std::uint32_t lanes,
          std::vector<FetchLanes>& result) {
    const RankWork work(trees, rank);
    std::uint32_t next = 1;
    for (std::size_t unit = 0; unit < trees.size(); ++unit) {
        const std::size_t children = trees[unit].folds[rank].size() - 1;
        for (std::size_t i = 0; i < children; ++i) result[unit].folds[rank].push_back(next++);
        if (children > 0 && rank != trees[unit].root) result[unit].fetch[rank] = next++;
    }
    const std::uint32_t leaf_lanes = std::min(work.leaves, lanes - work.own_lanes());
    std::uint32_t leaf = 0;
    for (std::size_t unit = 0; unit < trees.size(); ++unit) {
        if (trees[unit].folds[rank].size() > 1) continue;
        result[unit].fetch[rank] = next + leaf++ % leaf_lanes;
    }
}

}  // namespace

std::uint32_t fetch_lanes_needed(const std::vector<Tree>& trees) {
    std::uint32_t most = 0;
    for (std::uint32_t rank = 0; rank < trees.front().folds.size(); ++rank) {
        const RankWork work(trees, rank);
        most = std::max(most, work.own_lanes() + work.least_leaf_lanes());
    }
    return most;
}

std::vector<FetchLanes> deal_fetch_lanes(const std::vector<Tree>& trees, std::uint32_t lanes) {
    const std::size_t ranks = trees.front().folds.size();
    std::vector<FetchLanes> result(trees.size());
    for (FetchLanes& unit : result) {
        unit.folds.resize(ranks);
        unit.fetch.resize(ranks);
    }
    for (std::uint32_t rank = 0; rank < ranks; ++rank) deal(trees, rank, lanes, result);
    return result;
}

}  // namespace rondo
