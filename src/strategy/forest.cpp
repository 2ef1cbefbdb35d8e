// Forest: weighted trees share the data. Each reduces its part up to its root and broadcasts it
// down again, all at the same time; a link carries what the trees through it weigh, which is what
// the synthesis (topology/forest) has made room for.
//
// The message is cut into equal units and a tree gets as many as its weight says: every chunk then
// moves the trees' parts in their proportions. Units of one size also fill their slots.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <ranges>
#include <utility>

#include "strategy/equal_trees.hpp"
#include "strategy/forest_fetch.hpp"
#include "strategy/forest_lanes.hpp"
#include "strategy/forest_units.hpp"
#include "strategy/problem.hpp"
#include "strategy/tree.hpp"
#include "strategy/weighted_trees.hpp"

namespace rondo {
namespace {

/// Units per pair of lanes where the problem does not say.
constexpr std::uint32_t usual_units_per_lane = 4;

/// Trees of one weight, with lanes of their own, are better than exact weights from here on: lanes
/// that serve several trees wait for each other.
constexpr double least_equal = 0.9;

/// Parts that the busiest rank of a tree may fold before it reads its leaves' itself.
constexpr double most_folds = 6;

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
    const std::size_t wanted =
        std::size_t{problem.units_per_lane != 0 ? problem.units_per_lane : usual_units_per_lane} *
        lanes;
    const std::vector<std::uint32_t> counts = unit_counts(trees, std::max(trees.size(), wanted));
    for (std::uint32_t i = 0; i < trees.size(); ++i) {
        tree_of_unit.insert(tree_of_unit.end(), counts[i], i);
    }
    cut_evenly(schedule, static_cast<std::uint32_t>(tree_of_unit.size()));
    return tree_of_unit;
}

/// Where in the order of their chunk the units stand: those of a tree far apart.
std::vector<std::uint32_t> turns_of_units(const std::vector<std::uint32_t>& tree_of_unit) {
    std::map<std::uint32_t, std::uint32_t> counts;
    for (const std::uint32_t tree : tree_of_unit) ++counts[tree];
    std::map<std::uint32_t, std::uint32_t> next;
    std::vector<std::pair<double, std::uint32_t>> order;
    for (std::uint32_t unit = 0; unit < tree_of_unit.size(); ++unit) {
        const std::uint32_t tree = tree_of_unit[unit];
        order.emplace_back((next[tree]++ + 0.5) / counts[tree], unit);
    }
    std::ranges::sort(order);
    std::vector<std::uint32_t> turns(tree_of_unit.size());
    for (std::uint32_t turn = 0; turn < order.size(); ++turn) turns[order[turn].second] = turn;
    return turns;
}

/// Sorts every lane by turn, then by level. Nobody waits for ever then, whichever lane runs what: a
/// step needs data of its own turn from the level below, and slots that an earlier turn has left.
void order_steps(Schedule& schedule, const std::vector<std::uint32_t>& turns) {
    for (Lane& lane : schedule.lanes) {
        const auto key = [&](const Step& step) {
            const bool down = !step.finishes && !step.waits.empty();
            return std::pair{turns[step.unit], down};
        };
        std::ranges::stable_sort(lane.steps, {}, key);
    }
}

void add_unit(ScheduleBuilder& builder, const Tree& tree, std::uint32_t unit,
              const TreeLanes& lanes) {
    const std::vector<bool> wanted = wanted_by(builder.schedule(), unit);
    if (reduces(builder.schedule().collective)) {
        add_reduction(builder, tree, unit, lanes, wanted);
    } else {
        add_broadcast(builder, tree, unit, lanes, wanted);
    }
}

/// How often trees can be repeated so that each still has lanes of its own.
std::uint32_t times_apart(const std::vector<WeightedTree>& trees, const Problem& problem) {
    OwnLanes own(problem.ranks, problem.leaves_push);
    for (const WeightedTree& tree : trees) own.take(folds_of(tree));
    return (problem.lanes - 1) / std::max(1u, own.most() - 1);
}

/// Every unit has lanes of its own: nobody waits for another tree.
Schedule build_apart(const Strategy& strategy, const Problem& problem,
                     const std::vector<WeightedTree>& weighted,
                     const std::vector<std::uint32_t>& tree_of_unit) {
    const auto units = static_cast<std::uint32_t>(tree_of_unit.size());
    std::vector<Tree> trees;
    for (const WeightedTree& tree : weighted) trees.push_back(folds_of(tree));
    OwnLanes lanes(problem.ranks, problem.leaves_push);
    for (const std::uint32_t tree : tree_of_unit) lanes.take(trees[tree]);
    Schedule start = start_schedule(strategy, problem);
    cut_evenly(start, units);
    ScheduleBuilder builder(std::move(start), problem.depth);
    std::vector<std::uint32_t> up(problem.ranks);
    std::vector<std::uint32_t> down(problem.ranks);
    for (std::uint32_t unit = 0; unit < units; ++unit) {
        for (std::uint32_t rank = 0; rank < problem.ranks; ++rank) {
            up[rank] = lanes.up(rank, unit);
            down[rank] = lanes.down(rank, unit);
        }
        add_unit(builder, trees[tree_of_unit[unit]], unit,
                 {.pull_leaves = !problem.leaves_push, .up_at = up, .down_at = down});
    }
    return builder.take();
}

/// Equal trees as they are best for lanes of their own, or for lanes that serve several of them.
/// Apart, those who share a link should be at different places of their chunks, which lanes of one
/// tree never are: all of them stand still before their flags at the same time. Together, more
/// trees are more to wait for.
std::vector<WeightedTree> find_equal_trees(const Problem& problem,
                                           const std::vector<WeightedTree>& trees, bool apart) {
    EqualTreesOptions options{.most = problem.lanes, .least = least_equal, .many = apart};
    if (apart) {
        // A tree has a lane at each rank, most have two where leaves push.
        if (problem.leaves_push) options.most = problem.lanes * 3 / 4;
        options.accept = [&problem](const std::vector<WeightedTree>& equal) {
            return times_apart(equal, problem) > 0;
        };
    }
    return equal_trees(trees, options);
}

/// The lanes of every rank and unit: result[rank].
std::vector<LaneDealer> deal_lanes(const Schedule& schedule, const std::vector<Tree>& trees,
                                   const std::vector<std::uint32_t>& tree_of_unit,
                                   std::uint32_t lanes, bool pulls) {
    std::vector<LaneDealer> dealers(schedule.ranks, LaneDealer(lanes, tree_of_unit.size()));
    std::vector<std::vector<std::uint32_t>> depths;
    std::uint32_t deepest = 0;
    for (const Tree& tree : trees) {
        depths.push_back(depths_in(tree));
        deepest = std::max(deepest, std::ranges::max(depths.back()));
    }
    const bool up = reduces(schedule.collective);
    for (std::uint32_t unit = 0; unit < tree_of_unit.size(); ++unit) {
        const Tree& tree = trees[tree_of_unit[unit]];
        const std::vector<bool> reached = reached_by(tree, wanted_by(schedule, unit));
        for (std::uint32_t rank = 0; rank < schedule.ranks; ++rank) {
            const std::uint32_t depth = depths[tree_of_unit[unit]][rank];
            const auto parts = static_cast<double>(tree.folds[rank].size());
            const bool leaf = tree.folds[rank].size() == 1;
            const bool down = rank == tree.root ? !up : reached[rank];
            if (up && (!leaf || !pulls)) dealers[rank].add(unit, deepest - depth, false, parts);
            if (down) dealers[rank].add(unit, deepest + depth, true, parts - 1);
        }
    }
    for (LaneDealer& dealer : dealers) dealer.deal();
    return dealers;
}

/// Lanes that serve several trees.
Schedule build_together(const Strategy& strategy, const Problem& problem,
                        const std::vector<WeightedTree>& weighted, bool pulls) {
    Schedule start = start_schedule(strategy, problem);
    const std::vector<std::uint32_t> tree_of_unit =
        trees_of_units(problem, start, weighted, std::max(1u, problem.lanes / 2));
    std::vector<Tree> trees;
    for (const WeightedTree& tree : weighted) trees.push_back(folds_of(tree));
    const std::vector<LaneDealer> dealers =
        deal_lanes(start, trees, tree_of_unit, problem.lanes, pulls);
    ScheduleBuilder builder(std::move(start), problem.depth);
    std::vector<std::uint32_t> up(problem.ranks);
    std::vector<std::uint32_t> down(problem.ranks);
    for (std::uint32_t unit = 0; unit < tree_of_unit.size(); ++unit) {
        for (std::uint32_t rank = 0; rank < problem.ranks; ++rank) {
            up[rank] = dealers[rank].up(unit);
            down[rank] = dealers[rank].down(unit);
        }
        add_unit(builder, trees[tree_of_unit[unit]], unit,
                 {.pull_leaves = pulls, .channel_per_level = true, .up_at = up, .down_at = down});
    }
    Schedule schedule = builder.take();
    order_steps(schedule, turns_of_units(tree_of_unit));
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
    const bool pulls = have_busy_ranks(trees);
    const bool apart = problem.units_per_lane == 0;
    if (problem.collective == Collective::all_reduce && problem.lanes > 1) {
        if (problem.fetches && apart && !pulls) {
            Schedule schedule = build_fetching(strategy, problem, trees, least_equal);
            if (!schedule.lanes.empty()) return schedule;
        }
        const auto equal =
            pulls ? std::vector<WeightedTree>() : find_equal_trees(problem, trees, apart);
        if (!equal.empty() && !apart) return build_together(strategy, problem, equal, false);
        if (!equal.empty()) {
            const auto count = static_cast<std::uint32_t>(equal.size());
            std::vector<std::uint32_t> tree_of_unit(count * times_apart(equal, problem));
            for (std::uint32_t i = 0; i < tree_of_unit.size(); ++i) tree_of_unit[i] = i % count;
            return build_apart(strategy, problem, equal, tree_of_unit);
        }
        const UnitsApart units = apart ? units_apart(problem, trees) : UnitsApart();
        if (!units.tree_of_unit.empty()) {
            return build_apart(strategy, problem, units.trees, units.tree_of_unit);
        }
    }
    return build_together(strategy, problem, trees, pulls);
}

}  // namespace rondo
