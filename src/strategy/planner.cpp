// Puts strategies, topology and simulator together.
#include "strategy/planner.hpp"

#include <algorithm>

#include "strategy/problem.hpp"
#include "strategy/ring_order.hpp"
#include "strategy/trials.hpp"
#include "topology/forest/forest.hpp"

namespace rondo {
namespace {

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
                    .units_per_lane = candidate.cutting.units_per_lane,
                    .leaves_push = candidate.cutting.leaves_push,
                    .fetches = candidate.cutting.fetches};
    complete(problem, candidate.strategy);
    return build(candidate.strategy, problem);
}

Simulation Planner::simulate(const Task& task, const Candidate& candidate,
                             SimulationOptions options) const {
    options.bytes = task.bytes;
    options.slot_bytes = candidate.cutting.slot_bytes;
    return rondo::simulate(schedule(task, candidate), routing_for(task, candidate.strategy),
                           options);
}

}  // namespace rondo
