// See the header.
#include "training/engine/layout.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace rondo::training {
namespace {

/// Where the partitions put the nodes; nodes in no partition are in the result's gaps.
std::map<std::string, std::uint32_t> placements(const GraphPlan& plan,
                                                const ModelParallel& strategy) {
    std::map<std::string, std::uint32_t> workers;
    for (std::size_t p = 0; p < strategy.partitions.size(); ++p) {
        for (const std::string& node : strategy.partitions[p].nodes) {
            if (std::ranges::find(plan.nodes, node, &PlannedNode::id) == plan.nodes.end()) {
                throw InvalidArgument(fmt::format(
                    "/partitions/{} names the node '{}', which the graph does not have", p, node));
            }
            workers[node] = strategy.partitions[p].worker;
        }
    }
    return workers;
}

void require_all_workers_used(const TrainingLayout& layout) {
    const std::set<std::uint32_t> used(layout.worker_of_node.begin(), layout.worker_of_node.end());
    for (std::uint32_t w = 0; w < layout.workers; ++w) {
        if (!used.contains(w)) {
            throw InvalidArgument(
                fmt::format("the partitions name worker {} but none gives worker {} a node",
                            layout.workers - 1, w));
        }
    }
}

/// `is_optional(node)` says whether a node may be left out of the partitions, and is on worker 0
/// then.
template <class IsOptional>
void place(TrainingLayout& layout, const GraphPlan& plan, const ModelParallel& strategy,
           IsOptional is_optional) {
    const std::map<std::string, std::uint32_t> workers = placements(plan, strategy);
    layout.pipeline = strategy;
    for (std::size_t n = 0; n < plan.nodes.size(); ++n) {
        const auto found = workers.find(plan.nodes[n].id);
        if (found == workers.end() && !is_optional(plan.nodes[n].id)) {
            throw InvalidArgument(fmt::format("node '{}' is in no partition", plan.nodes[n].id));
        }
        layout.worker_of_node[n] = found == workers.end() ? 0 : found->second;
        layout.workers = std::max(layout.workers, layout.worker_of_node[n] + 1);
    }
    require_all_workers_used(layout);
}

void lay_out_inside_data_parallel(TrainingLayout& layout, const Graph& graph, const GraphPlan& plan,
                                  const TrainingStrategy& root) {
    const DataParallel& outer = *root.get_if<DataParallel>();
    std::optional<std::string> cut_subgraph;
    for (const std::string& subgraph : graph.subgraphs()) {
        const std::optional<TrainingStrategy>& own = graph.own_strategy(subgraph);
        if (!own || own->get_if<Local>() != nullptr) continue;
        if (const auto* inner = own->get_if<DataParallel>()) {
            if (inner->num_replicas != outer.num_replicas) refuse_nesting(subgraph, *own, root);
        } else if (own->get_if<ModelParallel>() != nullptr && !cut_subgraph) {
            cut_subgraph = subgraph;
        } else {
            refuse_nesting(subgraph, *own, root);
        }
    }
    if (cut_subgraph) {
        const TrainingStrategy& inner = *graph.own_strategy(*cut_subgraph);
        const auto is_in = [&](const std::string& node) {
            return graph.strategy_below_root(node) == &inner;
        };
        place(layout, plan, *inner.get_if<ModelParallel>(),
              [&](const std::string& node) { return !is_in(node); });
        for (const Partition& partition : layout.pipeline.partitions) {
            for (const std::string& node : partition.nodes) {
                if (is_in(node)) continue;
                throw InvalidArgument(
                    fmt::format("the partitions of subgraph '{}' name the node '{}', which is not "
                                "in it",
                                *cut_subgraph, node));
            }
        }
    }
    for (std::size_t p = 0; p < plan.parameters.size(); ++p) {
        const TrainingStrategy* const inner =
            graph.strategy_below_root(plan.nodes[plan.owners[p]].id);
        if (inner == nullptr) continue;
        if (inner->get_if<Local>() != nullptr) layout.aggregations[p] = std::nullopt;
        if (const auto* parallel = inner->get_if<DataParallel>()) {
            layout.aggregations[p] = parallel->aggregation;
        }
    }
}

}  // namespace

void refuse_nesting(const std::string& subgraph, const TrainingStrategy& inner,
                    const TrainingStrategy& outer) {
    throw Unsupported(
        fmt::format("subgraph '{}' can't be trained by {} inside a graph trained by "
                    "{}; see docs/training.md for what can",
                    subgraph, to_string(inner), to_string(outer)));
}

bool TrainingLayout::all_weighted() const {
    return std::ranges::all_of(aggregations, [](const auto& aggregation) {
        return aggregation == GradientAggregation::weighted_mean;
    });
}

bool TrainingLayout::any_unsynchronized() const {
    return replicas > 1 && std::ranges::any_of(aggregations, [](const auto& a) { return !a; });
}

TrainingLayout lay_out_graph(const Graph& graph, const GraphPlan& plan,
                             const TrainingStrategy& root) {
    TrainingLayout layout;
    layout.worker_of_node.assign(plan.nodes.size(), 0);
    layout.aggregations.assign(plan.parameters.size(), GradientAggregation::weighted_mean);
    if (const auto* parallel = root.get_if<DataParallel>()) {
        layout.replicas = parallel->num_replicas;
        layout.aggregations.assign(plan.parameters.size(), parallel->aggregation);
        lay_out_inside_data_parallel(layout, graph, plan, root);
        return layout;
    }
    for (const std::string& subgraph : graph.subgraphs()) {
        const std::optional<TrainingStrategy>& own = graph.own_strategy(subgraph);
        if (own && *own != root && own->get_if<Local>() == nullptr) {
            refuse_nesting(subgraph, *own, root);
        }
    }
    if (const auto* parallel = root.get_if<ModelParallel>()) {
        place(layout, plan, *parallel, [&](const std::string& node) {
            const TrainingStrategy* const inner = graph.strategy_below_root(node);
            return inner != nullptr && inner->get_if<Local>() != nullptr;
        });
    }
    return layout;
}

TrainingLayout lay_out_model(const Model& model, const TrainingStrategy& root) {
    TrainingLayout layout;
    if (root.get_if<ModelParallel>() != nullptr) {
        throw Unsupported("a model that is not a graph can't be trained by model_parallel");
    }
    GradientAggregation aggregation = GradientAggregation::weighted_mean;
    if (const auto* parallel = root.get_if<DataParallel>()) {
        layout.replicas = parallel->num_replicas;
        aggregation = parallel->aggregation;
    }
    layout.aggregations.assign(model.parameters().size(), aggregation);
    return layout;
}

std::vector<Segment> cut_segments(const GraphPlan& plan,
                                  const std::vector<std::uint32_t>& worker_of_node) {
    std::vector<Segment> segments;
    for (std::size_t n = 0; n < plan.nodes.size(); ++n) {
        if (!plan.nodes[n].live) continue;
        if (segments.empty() || segments.back().worker != worker_of_node[n]) {
            segments.push_back({worker_of_node[n], n, n});
        }
        segments.back().last = n + 1;
    }
    return segments;
}

}  // namespace rondo::training
