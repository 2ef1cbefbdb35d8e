// Puts strategies, topology and simulator together.
#include "strategy/planner.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "strategy/problem.hpp"
#include "strategy/ring_order.hpp"
#include "topology/forest/forest.hpp"

namespace rondo {
namespace {

/// Up to here one lane and one slot are best: there is nothing to overlap.
constexpr std::uint64_t small_message = 64 << 10;

/// Up to here few lanes may be better for a forest.
constexpr std::uint64_t medium_message = 16 << 20;

/// What NCCL's protocol Simple has per step: 4 MiB in 8 steps.
constexpr std::uint64_t largest_slot = 512 << 10;
constexpr std::uint64_t smallest_slot = 4 << 10;

ForestCollective forest_collective(Collective collective) {
    switch (collective) {
        case Collective::reduce:
            return ForestCollective::reduce;
        case Collective::broadcast:
            return ForestCollective::broadcast;
        case Collective::reduce_scatter:
            return ForestCollective::reduce_scatter;
        case Collective::all_gather:
            return ForestCollective::all_gather;
        default:
            return ForestCollective::all_reduce;
    }
}

WeightedTree tree_of_ranks(const ForestTree& tree, const std::vector<int>& gpus) {
    const auto rank_of = [&](int gpu) {
        return static_cast<std::uint32_t>(std::ranges::find(gpus, gpu) - gpus.begin());
    };
    WeightedTree result{std::vector<std::uint32_t>(gpus.size()), tree.weight.convert_to<double>()};
    result.parents[rank_of(tree.root)] = rank_of(tree.root);
    for (const ForestEdge& edge : tree.edges) {
        result.parents[rank_of(edge.child)] = rank_of(edge.parent);
    }
    return result;
}

/// The larger of the largest unit and a grain.
std::uint64_t largest_unit(const Schedule& schedule, std::uint64_t bytes) {
    double shares = 0;
    double largest = 0;
    for (const std::uint64_t share : schedule.unit_shares) {
        shares += static_cast<double>(share);
        largest = std::max(largest, static_cast<double>(share));
    }
    const double part = shares == 0 ? 0 : largest / shares;
    return static_cast<std::uint64_t>(static_cast<double>(bytes) * part) + 64;
}

}  // namespace

struct Planner::Trees {
    std::vector<WeightedTree> trees;
    Routing routing;
    double throughput = 0;  ///< 0: nothing limits it, or there are none
    std::string problem;
};

Planner::Planner(const Topology& topology, RoutingOptions options)
    : routing_(topology, std::move(options)) {}

Planner::~Planner() = default;

bool Planner::all_are_peers() const {
    for (const int from : routing_.gpus()) {
        for (const int to : routing_.gpus()) {
            if (!topology().peer_access(from, to)) return false;
        }
    }
    return true;
}

bool Planner::is_one_memory() const {
    return std::ranges::all_of(topology().links(),
                               [](const Link& link) { return link.kind == LinkKind::memory; });
}

const std::vector<std::uint32_t>& Planner::ring_order() const {
    if (order_.empty()) order_ = find_ring_order(HopWidths(routing_));
    return order_;
}

const Planner::Trees& Planner::trees(Collective collective, std::uint32_t root) const {
    const bool rooted = collective == Collective::reduce || collective == Collective::broadcast;
    auto& known = trees_[{collective, rooted ? root : 0}];
    if (known != nullptr) return *known;
    known = std::make_unique<Trees>(Trees{{}, routing_, 0, {}});
    ForestRequest request{.model = routing_.model(),
                          .collective = forest_collective(collective),
                          .gpus = routing_.gpus(),
                          .links = routing_.fabric_only() ? LinkFilter::nvlink : LinkFilter::all};
    if (rooted) request.root = routing_.gpus()[root];
    try {
        const Forest forest = build_forest(topology(), request);
        if (!forest.bound.unlimited) known->throughput = forest.throughput.convert_to<double>();
        known->routing.use(forest);
        for (const ForestTree& tree : forest.trees) {
            known->trees.push_back(tree_of_ranks(tree, routing_.gpus()));
        }
    } catch (const TopologyError& error) {
        known->problem = error.what();
    }
    return *known;
}

double Planner::bound(const Task& task) const {
    return trees(task.collective, task.root).throughput;
}

const Routing& Planner::routing_for(const Task& task, const Strategy& strategy) const {
    return strategy.kind() == Strategy::Kind::forest ? trees(task.collective, task.root).routing
                                                     : routing_;
}

void Planner::complete(Problem& problem, const Strategy& strategy) const {
    if (halves_.empty()) halves_ = find_halves(HopWidths(routing_));
    problem.order = ring_order();
    problem.halves = halves_;
    if (strategy.kind() == Strategy::Kind::forest) {
        const Trees& forest = trees(problem.collective, problem.root);
        if (!forest.problem.empty()) throw InvalidArgument("forest: " + forest.problem);
        problem.trees = forest.trees;
    }
}

Schedule Planner::schedule(const Task& task, const Candidate& candidate) const {
    Problem problem{.collective = task.collective,
                    .ranks = ranks(),
                    .root = task.root,
                    .destinations = task.destinations,
                    .counts = task.counts,
                    .lanes = candidate.cutting.lanes,
                    .depth = candidate.cutting.depth,
                    .units_per_lane = candidate.cutting.units_per_lane};
    complete(problem, candidate.strategy);
    return build(candidate.strategy, problem);
}

Simulation Planner::simulate(const Task& task, const Candidate& candidate, bool timeline) const {
    return rondo::simulate(
        schedule(task, candidate), routing_for(task, candidate.strategy),
        {.bytes = task.bytes, .slot_bytes = candidate.cutting.slot_bytes, .timeline = timeline});
}

std::vector<Candidate> Planner::cuttings(const Strategy& strategy, const Task& task) const {
    std::vector<Candidate> result;
    const std::uint64_t bytes = size_class(task.bytes);
    const auto add = [&](std::uint32_t lanes, std::uint32_t depth, std::uint64_t parts,
                         std::uint32_t units_per_lane = 0) {
        Candidate candidate{.strategy = strategy, .cutting = {lanes, depth, 0, units_per_lane}};
        try {
            const Schedule built = schedule(task, candidate);
            const std::uint64_t unit = largest_unit(built, bytes);
            candidate.cutting.slot_bytes =
                std::clamp(std::bit_ceil((unit + parts - 1) / parts), smallest_slot, largest_slot);
            if (built.channels.empty()) candidate.cutting.slot_bytes = smallest_slot;
        } catch (const Error& error) {
            candidate.problem = error.what();
        }
        const bool known = std::ranges::any_of(result, [&](const Candidate& other) {
            return other.cutting == candidate.cutting && other.problem == candidate.problem;
        });
        if (!known) result.push_back(std::move(candidate));
    };
    if (bytes <= small_message) {
        add(1, 2, 1);
        add(2, 2, 1);
        return result;
    }
    if (ranks() > 16) {
        // Many ranks make many steps: what sends slices around is simulated with few lanes.
        const bool few_steps =
            strategy.kind() == Strategy::Kind::forest || strategy.kind() == Strategy::Kind::direct;
        add(few_steps ? 32 : 4, 4, 8);
        return result;
    }
    const bool forest = strategy.kind() == Strategy::Kind::forest;
    for (const std::uint32_t lanes : {8u, 32u}) {
        for (const std::uint64_t parts : {4u, 16u}) {
            if (!forest || lanes == 32 || bytes <= medium_message) add(lanes, 4, parts);
        }
    }
    if (forest && ranks() > 2) {
        add(32, 4, 72);
        // Lanes that serve several trees: how many units are best depends on how the trees' weights
        // can be rounded. These were, on the presets and on parts of a DGX-1V.
        add(32, 8, 256, 1);
        add(32, 8, 64, 2);
        add(32, 4, 64, 4);
        add(32, 4, 32, 6);
    }
    return result;
}

std::vector<Candidate> Planner::candidates(const Task& task) const {
    const bool one_shot =
        task.collective == Collective::all_reduce || task.collective == Collective::reduce_scatter;
    std::vector<Strategy> strategies{Strategy::forest(),
                                     Strategy::ring(),
                                     Strategy::tree(2),
                                     Strategy::tree(4),
                                     Strategy::hierarchical_copy(2 * ranks()),
                                     Strategy::centralized()};
    if (all_are_peers()) {
        if (one_shot && size_class(task.bytes) <= small_message)
            strategies.push_back(Strategy::direct(1));
        strategies.push_back(Strategy::direct(2));
    }
    std::vector<Candidate> result;
    for (const Strategy& strategy : strategies) {
        for (Candidate& candidate : cuttings(strategy, task)) {
            result.push_back(std::move(candidate));
        }
    }
    return result;
}

}  // namespace rondo
