// Checks the problem and calls the strategy's builder.
#include "strategy/build.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/program.hpp"
#include "strategy/problem.hpp"

namespace rondo {
namespace {

template <class... Arguments>
void require(bool condition, fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    if (!condition) {
        throw InvalidArgument(fmt::format(text, std::forward<Arguments>(arguments)...));
    }
}

void check_order(const Problem& problem) {
    std::vector<std::uint32_t> sorted = problem.order;
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::uint32_t> wanted(problem.ranks);
    std::iota(wanted.begin(), wanted.end(), 0u);
    require(problem.order.empty() || sorted == wanted,
            "the order {} does not hold every one of {} ranks once", problem.order, problem.ranks);
}

/// Each tree has one root, and its parents lead everybody there.
void check_trees(const Problem& problem) {
    for (std::size_t i = 0; i < problem.trees.size(); ++i) {
        const WeightedTree& tree = problem.trees[i];
        require(tree.weight > 0, "tree {} has the weight {}", i, tree.weight);
        require(tree.parents.size() == problem.ranks, "tree {} has {} parents for {} ranks", i,
                tree.parents.size(), problem.ranks);
        std::uint32_t roots = 0;
        for (std::uint32_t rank = 0; rank < problem.ranks; ++rank) {
            require(tree.parents[rank] < problem.ranks, "tree {}: the parent of rank {} is {}", i,
                    rank, tree.parents[rank]);
            roots += tree.parents[rank] == rank ? 1 : 0;
            std::uint32_t at = rank;
            for (std::uint32_t hop = 0; hop < problem.ranks; ++hop) at = tree.parents[at];
            require(tree.parents[at] == at, "tree {}: rank {} does not lead to a root", i, rank);
        }
        require(roots == 1, "tree {} has {} roots", i, roots);
    }
}

void check(const Problem& problem) {
    require(problem.ranks >= 1, "a collective needs at least one rank");
    require(problem.root < problem.ranks, "root is {}, but there are {} ranks", problem.root,
            problem.ranks);
    for (const std::uint32_t rank : problem.destinations) {
        require(rank < problem.ranks, "destination {} does not exist, there are {} ranks", rank,
                problem.ranks);
    }
    require(problem.counts.empty() ||
                (has_owners(problem.collective) && problem.counts.size() == problem.ranks),
            "{} counts for {} of {} ranks", problem.counts.size(), to_string(problem.collective),
            problem.ranks);
    check_order(problem);
    check_trees(problem);
    require(problem.halves.empty() || problem.halves.size() == problem.ranks,
            "halves has {} elements for {} ranks", problem.halves.size(), problem.ranks);
    require(problem.lanes >= 1 && problem.lanes <= kernels::max_lanes,
            "lanes is {}; it must be 1 to {}", problem.lanes, kernels::max_lanes);
    require(std::has_single_bit(problem.depth), "depth is {}; it must be a power of two",
            problem.depth);
    if (problem.ranks > kernels::max_step_spans) {
        throw Unsupported(fmt::format("{} ranks; there may be {} at most", problem.ranks,
                                      kernels::max_step_spans));
    }
}

}  // namespace

bool has_owners(Collective collective) {
    return collective == Collective::reduce_scatter || collective == Collective::all_gather;
}

Schedule start_schedule(const Strategy& strategy, const Problem& problem) {
    Schedule schedule{.name = to_string(strategy),
                      .collective = problem.collective,
                      .ranks = problem.ranks,
                      .root = problem.root,
                      .destinations = problem.destinations,
                      .unit_shares = {},
                      .unit_owners = {},
                      .lanes = {},
                      .channels = {},
                      .events = {}};
    const bool selects =
        problem.collective == Collective::reduce || problem.collective == Collective::broadcast;
    if (schedule.destinations.empty() || !selects) {
        schedule.destinations.resize(problem.ranks);
        std::iota(schedule.destinations.begin(), schedule.destinations.end(), 0u);
    }
    std::sort(schedule.destinations.begin(), schedule.destinations.end());
    const auto repeated = std::unique(schedule.destinations.begin(), schedule.destinations.end());
    schedule.destinations.erase(repeated, schedule.destinations.end());
    if (has_owners(problem.collective)) {
        schedule.unit_shares =
            problem.counts.empty() ? std::vector<std::uint64_t>(problem.ranks, 1) : problem.counts;
        schedule.unit_owners.resize(problem.ranks);
        std::iota(schedule.unit_owners.begin(), schedule.unit_owners.end(), 0u);
    }
    return schedule;
}

void cut_evenly(Schedule& schedule, std::uint32_t units) {
    if (schedule.unit_shares.empty()) {
        schedule.unit_shares.assign(units, 1);
    }
}

std::vector<bool> wanted_by(const Schedule& schedule, std::uint32_t unit) {
    std::vector<bool> wanted(schedule.ranks);
    if (schedule.collective == Collective::reduce_scatter) {
        wanted[schedule.unit_owners[unit]] = true;
    } else {
        for (const std::uint32_t rank : schedule.destinations) {
            wanted[rank] = true;
        }
    }
    return wanted;
}

std::vector<std::uint32_t> order_from(const Problem& problem, std::uint32_t first) {
    std::vector<std::uint32_t> order = problem.order;
    if (order.empty()) {
        order.resize(problem.ranks);
        std::iota(order.begin(), order.end(), 0u);
    }
    std::rotate(order.begin(), std::find(order.begin(), order.end(), first), order.end());
    return order;
}

Schedule build(const Strategy& strategy, const Problem& problem) {
    check(problem);
    switch (strategy.kind()) {
        case Strategy::Kind::ring:
            return build_ring(strategy, problem);
        case Strategy::Kind::direct:
            return build_direct(strategy, problem);
        case Strategy::Kind::forest:
            return build_forest_schedule(strategy, problem);
        case Strategy::Kind::automatic:
            throw InvalidArgument("automatic is a choice; build() needs what was chosen");
        default:
            return build_on_trees(strategy, problem);
    }
}

}  // namespace rondo
