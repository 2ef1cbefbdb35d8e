// The coordinators: one function per strategy.
#pragma once

#include <optional>

#include "rondo/training/train.hpp"
#include "training/engine/layout.hpp"
#include "training/model/graph_model.hpp"

namespace rondo::training {

/// What every coordinator is given. Options are checked, devices are those to use.
struct TrainingJob {
    const Model& model;
    const GraphModel* graph;  ///< the same model, if it is a graph
    const Graph* source;      ///< what the graph was made from
    const DataSource& data;
    const TrainingOptions& options;
    TrainingStrategy strategy;
    std::vector<int> devices;

    /// Of the samples that were learned on, where somebody counted them: models of users need not.
    std::optional<double> training_accuracy(double share) const {
        return graph != nullptr && data.class_count() > 0 ? std::optional(share) : std::nullopt;
    }
};

/// Local, DataParallel and ModelParallel, and the last inside the second.
TrainingReport train_replicas(const TrainingJob& job, const TrainingLayout& layout);
/// `personal`: by parameter, whether it stays with the client.
TrainingReport train_federated(const TrainingJob& job, const std::vector<bool>& personal);
TrainingReport train_population(const TrainingJob& job);
TrainingReport train_custom(const TrainingJob& job);

}  // namespace rondo::training
