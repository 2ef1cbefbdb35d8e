// Forest: weighted trees share the data. Each reduces its part up to its root and broadcasts it
// down again, all at the same time; a link carries what the trees through it weigh, which is what
// the synthesis (topology/forest) has made room for.
//
// The message is cut into equal units and a tree gets as many as its weight says: every chunk then
// moves the trees' parts in their proportions. Units of one size also fill their slots.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <ranges>
#include <tuple>

#include "strategy/equal_trees.hpp"
#include "strategy/problem.hpp"
#include "strategy/tree.hpp"

namespace rondo {
namespace {

/// How far a tree may exceed its share by rounding: the links on it get slower by so much.
constexpr double tolerated_excess = 1.01;

/// Finer cuts than so many units above what the lanes need cost more steps than they gain.
constexpr std::size_t most_extra_units = 64;

/// So many units wait for each other in a lane, and others can go on meanwhile.
constexpr std::uint32_t units_per_lane = 8;

/// Trees of one weight, with lanes of their own, are better than exact weights from here on: lanes
/// that serve several trees wait for each other.
constexpr double least_equal = 0.9;

/// Parts that the busiest rank of a tree may fold before the trees are dealt out to all lanes.
constexpr double most_folds = 6;

/// Turns between the levels of a unit. More than a channel has slots would be a deadlock: who
/// pushes ahead waits for a slot that is freed a stride later.
constexpr std::uint32_t most_stride = 4;

std::uint32_t root_of(const WeightedTree& tree) {
    for (std::uint32_t rank = 0; rank < tree.parents.size(); ++rank) {
        if (tree.parents[rank] == rank) return rank;
    }
    return 0;
}

std::vector<WeightedTree> stars(const Problem& problem) {
    std::vector<WeightedTree> trees;
    const bool one_root =
        problem.collective == Collective::reduce || problem.collective == Collective::broadcast;
    for (std::uint32_t root = 0; root < problem.ranks; ++root) {
        if (!one_root || root == problem.root) {
            trees.push_back({std::vector<std::uint32_t>(problem.ranks, root), 1});
        }
    }
    return trees;
}

/// `units` units for trees of these weights, so that the largest excess is as small as can be.
std::vector<std::uint32_t> apportion(const std::vector<double>& weights, std::size_t units) {
    std::vector<std::uint32_t> parts(weights.size());
    for (std::size_t unit = 0; unit < units; ++unit) {
        std::size_t best = 0;
        for (std::size_t i = 1; i < weights.size(); ++i) {
            if ((parts[i] + 1) * weights[best] < (parts[best] + 1) * weights[i]) best = i;
        }
        ++parts[best];
    }
    return parts;
}

double excess(const std::vector<double>& weights, const std::vector<std::uint32_t>& parts,
              std::size_t units) {
    double worst = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        worst = std::max(worst, parts[i] / (weights[i] * static_cast<double>(units)));
    }
    return worst;
}

/// How many units each tree gets, `least` in all or more: the fewest that are close enough, or the
/// closest.
std::vector<std::uint32_t> unit_counts(const std::vector<WeightedTree>& trees, std::size_t least) {
    double total = 0;
    for (const WeightedTree& tree : trees) total += tree.weight;
    std::vector<double> weights;
    for (const WeightedTree& tree : trees) weights.push_back(tree.weight / total);
    std::vector<std::uint32_t> best;
    double best_excess = 0;
    for (std::size_t units = least; units <= least + most_extra_units; ++units) {
        std::vector<std::uint32_t> parts = apportion(weights, units);
        const double worst = excess(weights, parts, units);
        if (best.empty() || worst < best_excess) {
            best = std::move(parts);
            best_excess = worst;
        }
        if (best_excess <= tolerated_excess) break;
    }
    return best;
}

/// Children in the order of ranks, each rank among its own.
Tree folds_of(const WeightedTree& tree) {
    Tree result{.root = root_of(tree), .folds = {}};
    result.folds.resize(tree.parents.size());
    for (std::uint32_t rank = 0; rank < tree.parents.size(); ++rank) {
        result.folds[rank].push_back(rank);
    }
    for (std::uint32_t rank = 0; rank < tree.parents.size(); ++rank) {
        if (tree.parents[rank] != rank) result.folds[tree.parents[rank]].push_back(rank);
    }
    for (auto& folds : result.folds) std::ranges::sort(folds);
    return result;
}

std::uint32_t depth_in(const WeightedTree& tree, std::uint32_t rank) {
    std::uint32_t depth = 0;
    for (; tree.parents[rank] != rank; rank = tree.parents[rank]) ++depth;
    return depth;
}

/// One hop: the root reads from everybody and writes to everybody, without scratch and without a
/// pipeline that would keep different roots in step, so they must have the same to do.
bool are_equal_stars(const std::vector<WeightedTree>& trees) {
    std::map<std::uint32_t, double> weights;
    for (const WeightedTree& tree : trees) {
        const std::uint32_t root = root_of(tree);
        weights[root] += tree.weight;
        if (std::ranges::any_of(tree.parents, [&](std::uint32_t up) { return up != root; })) {
            return false;
        }
    }
    const auto [least, most] = std::ranges::minmax(weights | std::views::values);
    return most <= least * tolerated_excess;
}

/// What each rank is the root of, in parts of a whole that is fine enough for any weights.
std::vector<std::uint64_t> root_shares(const Problem& problem,
                                       const std::vector<WeightedTree>& trees) {
    std::vector<double> weights(problem.ranks);
    double heaviest = 0;
    for (const WeightedTree& tree : trees) {
        double& weight = weights[root_of(tree)];
        weight += tree.weight;
        heaviest = std::max(heaviest, weight);
    }
    std::vector<std::uint64_t> shares;
    for (const double weight : weights) {
        shares.push_back(static_cast<std::uint64_t>(std::llround(weight / heaviest * 1024)));
    }
    const std::uint64_t common =
        std::accumulate(shares.begin(), shares.end(), std::uint64_t{0},
                        [](std::uint64_t a, std::uint64_t b) { return std::gcd(a, b); });
    for (std::uint64_t& share : shares) share /= common;
    return shares;
}

/// A rank that folds far more than the mean of all would keep one of its lanes busy and leave the
/// others idle, if that lane were the only one to serve the tree.
bool have_busy_ranks(const std::vector<WeightedTree>& trees) {
    double busiest = 0;
    double total = 0;
    for (const WeightedTree& tree : trees) {
        std::vector<std::uint32_t> folds(tree.parents.size(), 1);
        for (std::uint32_t rank = 0; rank < tree.parents.size(); ++rank) {
            if (tree.parents[rank] != rank) ++folds[tree.parents[rank]];
        }
        busiest += *std::ranges::max_element(folds) * tree.weight;
        total += tree.weight;
    }
    return busiest > most_folds * total;
}

/// Neighbouring units, most of one tree, share a lane, or are dealt out to all lanes.
std::vector<std::uint32_t> lanes_of_units(std::size_t units, std::uint32_t lanes, bool deal) {
    std::vector<std::uint32_t> lane_of_unit;
    for (std::size_t unit = 0; unit < units; ++unit) {
        lane_of_unit.push_back(
            static_cast<std::uint32_t>(deal ? unit % lanes : unit * lanes / units));
    }
    return lane_of_unit;
}

/// The tree of each unit. Units with owners: the heaviest tree rooted there.
std::vector<std::uint32_t> trees_of_units(const Problem& problem, Schedule& schedule,
                                          const std::vector<WeightedTree>& trees,
                                          std::uint32_t lanes) {
    std::vector<std::uint32_t> tree_of_unit;
    if (has_owners(problem.collective)) {
        for (const std::uint32_t owner : schedule.unit_owners) {
            std::uint32_t best = UINT32_MAX;
            for (std::uint32_t i = 0; i < trees.size(); ++i) {
                if (root_of(trees[i]) == owner &&
                    (best == UINT32_MAX || trees[i].weight > trees[best].weight)) {
                    best = i;
                }
            }
            if (best == UINT32_MAX) {
                throw InvalidArgument("forest: no tree is rooted at rank " + std::to_string(owner));
            }
            tree_of_unit.push_back(best);
        }
        return tree_of_unit;
    }
    const std::size_t wanted = std::size_t{units_per_lane} * lanes;
    const std::vector<std::uint32_t> counts = unit_counts(trees, std::max(trees.size(), wanted));
    for (std::uint32_t i = 0; i < trees.size(); ++i) {
        tree_of_unit.insert(tree_of_unit.end(), counts[i], i);
    }
    cut_evenly(schedule, static_cast<std::uint32_t>(tree_of_unit.size()));
    return tree_of_unit;
}

/// The steps of a lane in an order in which nobody waits for long. In the order of units each would
/// wait for the one before, because a rank that is a leaf of one tree is the root of another; so a
/// unit's steps stand `stride` turns apart from level to level, and other units fill the gap. Both
/// ends of a channel or event agree on the order, and no step waits for one that stands behind its
/// own, because levels differ by one from end to end.
void order_steps(Schedule& schedule, const std::vector<WeightedTree>& trees,
                 const std::vector<std::uint32_t>& tree_of_unit,
                 const std::vector<std::int64_t>& turns, std::int64_t stride) {
    std::vector<std::vector<std::int64_t>> depths;
    std::int64_t deepest = 0;
    for (const WeightedTree& tree : trees) {
        depths.emplace_back();
        for (std::uint32_t rank = 0; rank < schedule.ranks; ++rank) {
            depths.back().push_back(depth_in(tree, rank));
            deepest = std::max(deepest, depths.back().back());
        }
    }
    for (Lane& lane : schedule.lanes) {
        std::vector<std::tuple<std::int64_t, std::int64_t, std::size_t>> order;
        for (std::size_t i = 0; i < lane.steps.size(); ++i) {
            const Step& step = lane.steps[i];
            const std::int64_t depth = depths[tree_of_unit[step.unit]][lane.rank];
            const bool down = !step.finishes && !step.waits.empty();
            const std::int64_t turn = turns[step.unit];
            order.emplace_back(turn + stride * (down ? deepest + depth : deepest - depth), turn, i);
        }
        std::ranges::sort(order);
        std::vector<Step> steps;
        for (const auto& [key, turn, i] : order) steps.push_back(std::move(lane.steps[i]));
        lane.steps = std::move(steps);
    }
}

/// When each unit's turn is among those of its lane. Lanes that serve the same trees begin with
/// different ones, so that not all write to the same rank.
std::vector<std::int64_t> turns_of_units(const std::vector<std::uint32_t>& lane_of_unit,
                                         std::uint32_t lanes) {
    std::vector<std::size_t> sizes(lanes);
    for (const std::uint32_t lane : lane_of_unit) ++sizes[lane];
    std::vector<std::size_t> next(lanes);
    std::vector<std::int64_t> turn;
    for (const std::uint32_t lane : lane_of_unit) {
        const std::size_t shift = lane * sizes[lane] / lanes;
        turn.push_back(
            static_cast<std::int64_t>((next[lane]++ + sizes[lane] - shift) % sizes[lane]));
    }
    return turn;
}

void add_unit(ScheduleBuilder& builder, const WeightedTree& tree, std::uint32_t unit,
              const TreeLanes& lanes) {
    const std::vector<bool> wanted = wanted_by(builder.schedule(), unit);
    if (reduces(builder.schedule().collective)) {
        add_reduction(builder, folds_of(tree), unit, lanes, wanted);
    } else {
        add_broadcast(builder, folds_of(tree), unit, lanes, wanted);
    }
}

/// Trees of one weight, each with lanes of its own: nobody waits for another tree. As many lanes
/// down as up, because links are shared by the number of those who use them.
Schedule build_apart(const Strategy& strategy, const Problem& problem,
                     const std::vector<WeightedTree>& trees) {
    const auto count = static_cast<std::uint32_t>(trees.size());
    const std::uint32_t units = count * std::max(1u, problem.lanes / 2 / count);
    Schedule start = start_schedule(strategy, problem);
    cut_evenly(start, units);
    ScheduleBuilder builder(std::move(start), problem.depth);
    for (std::uint32_t unit = 0; unit < units; ++unit) {
        add_unit(builder, trees[unit % count], unit, {.up = 2 * unit, .down = 2 * unit + 1});
    }
    return builder.take();
}

/// Lanes that serve several trees.
Schedule build_together(const Strategy& strategy, const Problem& problem,
                        const std::vector<WeightedTree>& trees, bool deal) {
    const std::uint32_t pairs = std::max(1u, problem.lanes / 2);
    Schedule start = start_schedule(strategy, problem);
    const std::vector<std::uint32_t> tree_of_unit = trees_of_units(problem, start, trees, pairs);
    const std::vector<std::uint32_t> pair_of_unit =
        lanes_of_units(tree_of_unit.size(), pairs, deal);
    ScheduleBuilder builder(std::move(start), problem.depth);
    for (std::uint32_t unit = 0; unit < tree_of_unit.size(); ++unit) {
        const std::uint32_t pair = pair_of_unit[unit];
        TreeLanes lanes{.up = 2 * pair, .down = 2 * pair + 1};
        if (problem.lanes == 1) lanes = {.up = 0, .down = 0};
        lanes.pull_leaves = deal;
        lanes.channel_per_level = true;
        add_unit(builder, trees[tree_of_unit[unit]], unit, lanes);
    }
    Schedule schedule = builder.take();
    order_steps(schedule, trees, tree_of_unit, turns_of_units(pair_of_unit, pairs),
                std::min(problem.depth, most_stride));
    return schedule;
}

}  // namespace

Schedule build_forest_schedule(const Strategy& strategy, const Problem& problem) {
    const std::vector<WeightedTree> trees = problem.trees.empty() ? stars(problem) : problem.trees;
    for (const WeightedTree& tree : trees) {
        if (problem.collective == Collective::broadcast && root_of(tree) != problem.root) {
            throw InvalidArgument("forest: a tree of a broadcast from rank " +
                                  std::to_string(problem.root) + " is rooted at rank " +
                                  std::to_string(root_of(tree)));
        }
    }
    if (are_equal_stars(trees)) return build_stars(strategy, problem, root_shares(problem, trees));
    const bool deal = have_busy_ranks(trees);
    if (problem.collective == Collective::all_reduce && !deal && problem.lanes > 1) {
        const auto equal = equal_trees(trees, problem.lanes / 2, least_equal);
        if (!equal.empty()) return build_apart(strategy, problem, equal);
    }
    return build_together(strategy, problem, trees, deal);
}

}  // namespace rondo
