// What the strategies of a graph mean together: how many replicas, which node on which worker, and
// whose gradients are put together how.
#pragma once

#include <optional>
#include <vector>

#include "rondo/training/pipeline.hpp"
#include "training/model/graph_plan.hpp"

namespace rondo::training {

struct TrainingLayout {
    std::uint32_t replicas = 1;
    std::uint32_t workers = 1;  ///< of a replica
    std::vector<std::uint32_t> worker_of_node;
    /// By parameter; nothing: it stays with its replica.
    std::vector<std::optional<GradientAggregation>> aggregations;
    ModelParallel pipeline;  ///< no partitions: there is none

    std::uint32_t cells() const { return replicas * workers; }
    /// All parameters are weighted means: then they can be weighted before they are summed.
    bool all_weighted() const;
    bool any_unsynchronized() const;
};

/// Local, DataParallel or ModelParallel at the root. Inside a DataParallel graph, a subgraph may be
///   Local:          its parameters stay with the replica and are not averaged;
///   ModelParallel:  each replica spreads those nodes over workers; the others are on worker 0;
///   DataParallel:   with the same number of replicas; its gradients are aggregated its own way.
/// Inside a ModelParallel graph, nodes of a Local subgraph that no partition names are on worker 0.
/// Throws Unsupported for any other nesting, InvalidArgument for partitions that don't fit.
TrainingLayout lay_out_graph(const Graph& graph, const GraphPlan& plan,
                             const TrainingStrategy& root);
/// A model that can't be cut.
TrainingLayout lay_out_model(const Model& model, const TrainingStrategy& root);

[[noreturn]] void refuse_nesting(const std::string& subgraph, const TrainingStrategy& inner,
                                 const TrainingStrategy& outer);

/// Runs of neighbouring live nodes on one worker.
struct Segment {
    std::uint32_t worker = 0;
    std::size_t first = 0;
    std::size_t last = 0;  ///< one past the last node
};
std::vector<Segment> cut_segments(const GraphPlan& plan,
                                  const std::vector<std::uint32_t>& worker_of_node);

}  // namespace rondo::training
