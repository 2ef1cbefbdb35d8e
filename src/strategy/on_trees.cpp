// Centralized, tree, hierarchical copy, reduction to one device: they differ in the tree of each
// unit and in nothing else.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "strategy/problem.hpp"
#include "strategy/tree.hpp"

namespace rondo {
namespace {

std::vector<std::uint32_t> members_of(const Problem& problem, std::uint32_t half) {
    std::vector<std::uint32_t> members;
    for (std::uint32_t rank = 0; rank < problem.ranks; ++rank) {
        const std::uint32_t own =
            problem.halves.empty() ? (rank < problem.ranks / 2 ? 0 : 1) : problem.halves[rank];
        if (own == half) {
            members.push_back(rank);
        }
    }
    return members;
}

/// `main` folds its half in the order of ranks, then what its counterpart has folded of the other.
Tree make_hierarchy(const Problem& problem, std::uint32_t main) {
    std::vector<std::uint32_t> own = members_of(problem, 0);
    std::vector<std::uint32_t> other = members_of(problem, 1);
    if (std::find(own.begin(), own.end(), main) == own.end()) {
        std::swap(own, other);
    }
    Tree tree{.root = main, .folds = {}};
    tree.folds.resize(problem.ranks);
    for (std::uint32_t rank = 0; rank < problem.ranks; ++rank) {
        tree.folds[rank] = {rank};
    }
    tree.folds[main] = own;
    if (!other.empty()) {
        const auto place = std::find(own.begin(), own.end(), main) - own.begin();
        const std::uint32_t counterpart = other[static_cast<std::size_t>(place) % other.size()];
        tree.folds[counterpart] = other;
        tree.folds[main].push_back(counterpart);
    }
    return tree;
}

Tree make_tree(const Strategy& strategy, const Problem& problem, std::uint32_t root) {
    switch (strategy.kind()) {
        case Strategy::Kind::hierarchical_copy:
            return make_hierarchy(problem, root);
        case Strategy::Kind::tree:
            return make_heap_tree(order_from(problem, root), strategy.arity());
        default: {
            // Folded in the order of ranks, whoever the centre is.
            Tree tree{.root = root, .folds = {}};
            tree.folds.resize(problem.ranks);
            for (std::uint32_t rank = 0; rank < problem.ranks; ++rank) {
                tree.folds[rank] = {rank};
            }
            tree.folds[root].resize(problem.ranks);
            std::iota(tree.folds[root].begin(), tree.folds[root].end(), 0u);
            return tree;
        }
    }
}

/// Who holds the unit when it is complete.
std::uint32_t root_of(const Strategy& strategy, const Problem& problem, const Schedule& schedule,
                      std::uint32_t unit) {
    if (has_owners(problem.collective)) {
        return schedule.unit_owners[unit];
    }
    if (problem.collective == Collective::broadcast) {
        return problem.root;
    }
    if (strategy.kind() == Strategy::Kind::hierarchical_copy) {
        return unit % problem.ranks;
    }
    if (problem.centre < problem.ranks) {
        return problem.centre;
    }
    return problem.collective == Collective::reduce ? problem.root : order_from(problem, 0).front();
}

}  // namespace

Schedule build_on_trees(const Strategy& strategy, const Problem& problem) {
    Schedule start = start_schedule(strategy, problem);
    const std::uint32_t pairs = std::max(1u, problem.lanes / 2);
    cut_evenly(start,
               strategy.kind() == Strategy::Kind::hierarchical_copy ? strategy.num_packs() : pairs);
    ScheduleBuilder builder(std::move(start), problem.depth);
    const auto units = static_cast<std::uint32_t>(builder.schedule().unit_shares.size());
    for (std::uint32_t unit = 0; unit < units; ++unit) {
        const std::uint32_t pair = unit % pairs;
        const TreeLanes lanes =
            problem.lanes == 1 ? TreeLanes{0, 0} : TreeLanes{2 * pair, 2 * pair + 1};
        const Tree tree =
            make_tree(strategy, problem, root_of(strategy, problem, builder.schedule(), unit));
        const std::vector<bool> wanted = wanted_by(builder.schedule(), unit);
        if (reduces(problem.collective)) {
            add_reduction(builder, tree, unit, lanes, wanted);
        } else {
            add_broadcast(builder, tree, unit, lanes, wanted);
        }
    }
    return builder.take();
}

}  // namespace rondo
