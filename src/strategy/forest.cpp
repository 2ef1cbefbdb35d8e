// Forest: trees computed for this very machine (topology/forest) share the data, all at the same
// time. Each reduces its part up to its root, or broadcasts it down, or both.
//
// The message, or each rank's part of it, is cut into units of one size, each with a tree of its
// own (even_trees): every link then carries what there is room for, and every tree moves at the
// same pace. Steps: up to twice the depth of the trees, pipelined chunk by chunk. On the wire:
// every unit crosses N - 1 edges of its tree, in each direction that the collective has.
//
// What moves has a lane of its own, so that no tree waits for another; only where there are too
// many do neighbouring levels share lanes. What only waits for the end shares one lane. Where trees
// are stars with the same to do, everybody exchanges with everybody, which is what direct does.
#include <algorithm>
#include <ranges>
#include <tuple>

#include "kernels/program.hpp"
#include "strategy/building.hpp"
#include "strategy/even_trees.hpp"
#include "strategy/exchange.hpp"
#include "strategy/forest_lanes.hpp"
#include "strategy/tree.hpp"
#include "strategy/weighted_trees.hpp"

namespace rondo {
namespace {

/// Variants: one of the packing's sets of even trees, and how many lanes they get...
constexpr std::uint32_t ways = 6;
enum Way : std::uint32_t {
    own_lanes,     ///< everything that moves has one
    shared_lanes,  ///< so many that all have about the same to do as the busiest step
    fewer_lanes,   ///< so few that one more replica fits
    fewest_lanes,  ///< the same for two more
    two_lanes,     ///< for small messages
    as_direct      ///< ...or, for stars, a variant of direct
};

/// Lanes of their own for every tree of so many ranks would be more than can be proved.
constexpr std::uint32_t most_ranks_for_own = 32;
/// A rank that has more than so many has few replicas, with lanes of their own.
constexpr std::size_t many_steps = 20;
/// Beyond, shared lanes have too many each.
constexpr std::size_t most_units_to_share = 48;

const TreePacking& packing_of(const BuildInput& input) {
    const TreePacking& packing = input.machine.trees(input.collective, input.root);
    if (!packing.problem.empty()) throw InvalidArgument("forest: " + packing.problem);
    return packing;
}

/// One around every rank.
bool are_equal_stars(const BuildInput& input, const TreePacking& packing) {
    const auto [least, most] =
        std::ranges::minmax(packing.trees | std::views::transform(&WeightedTree::weight));
    return packing.trees.size() == input.ranks() && most <= 1.001 * least &&
           std::ranges::all_of(packing.trees, [](const WeightedTree& tree) {
               return std::ranges::count(tree.parents, root_of(tree)) ==
                      static_cast<std::ptrdiff_t>(tree.parents.size());
           });
}

TreeLanes lanes_on(const BuildInput& input) {
    return {.channel_per_level = true,
            .machine = &input.machine,
            .routing = packing_of(input).routing.get()};
}

std::uint32_t most_lanes(Way way, const std::vector<LaneDealer>& dealers) {
    if (way == two_lanes) return 2;
    if (way == own_lanes || way == shared_lanes) return kernels::max_lanes;
    std::size_t own = 1;
    for (const LaneDealer& dealer : dealers) own = std::max(own, dealer.own_lanes());
    const std::size_t replicas = kernels::max_lanes / own + (way == fewer_lanes ? 1 : 2);
    return static_cast<std::uint32_t>(kernels::max_lanes / replicas);
}

/// The lanes of every rank and unit: result[rank].
std::vector<LaneDealer> deal_lanes(const BuildInput& input, const Schedule& schedule,
                                   const std::vector<Tree>& trees, Way way, bool pulls) {
    std::vector<LaneDealer> dealers(schedule.ranks, LaneDealer(trees.size()));
    std::vector<std::vector<std::uint32_t>> depths;
    std::uint32_t deepest = 0;
    for (const Tree& tree : trees) {
        depths.push_back(depths_in(tree));
        deepest = std::max(deepest, std::ranges::max(depths.back()));
    }
    const bool up = reduces(schedule.collective);
    const TreeLanes lanes = lanes_on(input);
    for (std::uint32_t unit = 0; unit < trees.size(); ++unit) {
        const Tree& tree = trees[unit];
        const std::vector<bool> reached = reached_by(tree, wanted_by(schedule, unit));
        for (std::uint32_t rank = 0; rank < schedule.ranks; ++rank) {
            const std::uint32_t depth = depths[unit][rank];
            const auto parts = static_cast<double>(tree.folds[rank].size());
            const bool leaf = tree.folds[rank].size() == 1;
            const bool down = rank == tree.root ? !up : reached[rank];
            const bool pulled = pulls && leaf && rank != tree.root &&
                                is_pulled_leaf(tree, rank, parent_of(tree, rank), lanes);
            if (up && !pulled) dealers[rank].add(unit, deepest - depth, false, parts);
            if (down || (up && pulled)) {
                dealers[rank].add(unit, leaf ? 2 * deepest + 1 : deepest + depth, true, parts - 1);
            }
        }
    }
    double busiest = 0;
    for (const LaneDealer& dealer : dealers) busiest = std::max(busiest, dealer.busiest());
    const std::uint32_t most = most_lanes(way, dealers);
    for (LaneDealer& dealer : dealers) {
        dealer.deal(most, way == shared_lanes ? std::max(busiest, 2.0) : 0);
    }
    return dealers;
}

/// Sorts every lane by the place of the unit in its part, then by level. Nobody waits for ever
/// then, whichever lane runs what: a step needs data of its own turn from the level below, and
/// slots that an earlier turn has left.
void order_steps(Schedule& schedule, std::uint32_t units_per_part) {
    for (Lane& lane : schedule.lanes) {
        std::ranges::stable_sort(lane.steps, {}, [&](const Step& step) {
            const bool down = !step.finishes && !step.waits.empty();
            return std::tuple(step.unit % units_per_part, step.unit, down);
        });
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

Schedule build_as_direct(const BuildInput& input) {
    BuildInput direct = input;
    direct.strategy = Strategy::direct(2);
    direct.variant = input.variant / ways;
    Schedule schedule = build(direct);
    schedule.name = to_string(input.strategy);
    return schedule;
}

/// Of trees that somebody brought.
void check_roots(const BuildInput& input, const EvenTrees& even) {
    for (std::uint32_t part = 0; part < even.parts.size(); ++part) {
        const bool owned = has_owners(input.collective);
        if (even.parts[part].size() != even.units() || even.parts[part].empty()) {
            throw InvalidArgument("forest: no tree is rooted at rank " + std::to_string(part));
        }
        if (!owned && input.collective != Collective::broadcast) continue;
        const std::uint32_t root = owned ? part : input.root;
        for (const WeightedTree& tree : even.parts[part]) {
            if (root_of(tree) == root) continue;
            throw InvalidArgument("forest: a tree from rank " + std::to_string(root) +
                                  " is rooted at rank " + std::to_string(root_of(tree)));
        }
    }
}

EvenTrees trees_of(const BuildInput& input, const TreePacking& packing) {
    if (input.variant % ways == two_lanes) return heaviest_trees(packing, input.collective);
    const std::vector<EvenTrees>& sets = input.machine.even_trees(input.collective, input.root);
    return sets[std::min<std::size_t>(input.variant / ways, sets.size() - 1)];
}

/// The trees' units, part by part.
Schedule start_forest(const BuildInput& input, const EvenTrees& even) {
    Schedule start = start_schedule(input);
    start.unit_shares.assign(even.parts.size() * even.units(), 1);
    start.unit_owners.clear();
    for (std::uint32_t part = 0; part < even.parts.size() && has_owners(input.collective); ++part) {
        start.unit_owners.insert(start.unit_owners.end(), even.units(), part);
    }
    return start;
}

Schedule build_forest(const BuildInput& input) {
    if (is_exchange(input.collective)) return build_exchange(input, true);
    require_tree_collective(input);
    if (input.variant % ways == as_direct) return build_as_direct(input);
    const TreePacking& packing = packing_of(input);
    const EvenTrees even = trees_of(input, packing);
    check_roots(input, even);
    Schedule start = start_forest(input, even);
    std::vector<Tree> trees;
    for (const auto& part : even.parts) {
        for (const WeightedTree& tree : part) trees.push_back(folds_of(tree));
    }
    const auto way = static_cast<Way>(input.variant % ways);
    // By simulation, pulling is better where it saves lanes that are needed.
    const bool pulls = (way != own_lanes && way != fewer_lanes) || !has_root(input.collective);
    const std::vector<LaneDealer> dealers = deal_lanes(input, start, trees, way, pulls);
    ScheduleBuilder builder(std::move(start), input.depth);
    std::vector<std::uint32_t> up(input.ranks());
    std::vector<std::uint32_t> down(input.ranks());
    TreeLanes lanes = lanes_on(input);
    lanes.pull_leaves = pulls;
    lanes.up_at = up;
    lanes.down_at = down;
    for (std::uint32_t unit = 0; unit < trees.size(); ++unit) {
        for (std::uint32_t rank = 0; rank < input.ranks(); ++rank) {
            up[rank] = dealers[rank].up(unit);
            down[rank] = dealers[rank].down(unit);
        }
        add_unit(builder, trees[unit], unit, lanes);
    }
    Schedule schedule = builder.take();
    order_steps(schedule, even.units());
    return schedule;
}

std::vector<std::uint32_t> forest_variants(const BuildInput& input, std::uint64_t bytes) {
    if (is_exchange(input.collective)) return {own_lanes};
    const TreePacking& packing = input.machine.trees(input.collective, input.root);
    if (packing.trees.empty()) return {own_lanes};
    if (are_equal_stars(input, packing)) {
        std::vector<std::uint32_t> variants = entry_of(Strategy::direct(2)).variants(input, bytes);
        for (std::uint32_t& variant : variants) variant = variant * ways + as_direct;
        return variants;
    }
    if (bytes <= small_message) return {two_lanes};
    std::vector<std::uint32_t> variants;
    const std::vector<EvenTrees>& sets = input.machine.even_trees(input.collective, input.root);
    for (std::uint32_t set = 0; set < sets.size(); ++set) {
        const std::size_t units = sets[set].parts.size() * sets[set].units();
        const std::size_t steps = units * (input.collective == Collective::all_reduce ? 2 : 1);
        const bool own = input.ranks() <= most_ranks_for_own;
        if (own) variants.push_back(set * ways + own_lanes);
        if (own && steps > many_steps) {
            variants.push_back(set * ways + fewer_lanes);
            if (has_owners(input.collective)) variants.push_back(set * ways + fewest_lanes);
        }
        if (!own || units <= most_units_to_share) variants.push_back(set * ways + shared_lanes);
    }
    return variants;
}

}  // namespace

extern constinit const StrategyEntry forest_strategy{
    .name = "forest", .follows_trees = true, .variants = forest_variants, .build = build_forest};

}  // namespace rondo
