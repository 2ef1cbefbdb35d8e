// Coordinators of your own, for the strategy Custom.
//
//     CoordinatorRegistry registry;
//     registry.add("mine", [](const CoordinatorContext& context) {
//         LocalTrainer trainer(context.model, context.data, 0, context.options);
//         ...                                      // context.config is the strategy's JSON text
//         return report;
//     });
//     train(graph, Custom{.coordinator = "mine"}, data, {.coordinators = &registry});
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rondo/export.hpp"
#include "rondo/training/train.hpp"

namespace rondo::training {

/// What a coordinator works with. Lives until it returns.
struct CoordinatorContext {
    const Model& model;
    const DataSource& data;
    const TrainingOptions& options;
    std::vector<int> devices;  ///< those of the options, or all
    std::string config;        ///< JSON text
};

using Coordinator = std::function<TrainingReport(const CoordinatorContext&)>;

/// Coordinators by name. A value: there is no registry but the ones you make.
class RONDO_API CoordinatorRegistry {
public:
    /// Throws InvalidArgument for a name that is empty or taken, or no function.
    void add(std::string name, Coordinator coordinator);
    /// Throws InvalidArgument that lists the names that are known.
    const Coordinator& find(const std::string& name) const;
    std::vector<std::string> names() const;

private:
    std::map<std::string, Coordinator> coordinators_;
};

/// One model that learns on one device: what coordinators are made of. One thread uses it.
class RONDO_API LocalTrainer {
public:
    /// Model and data must outlive it. Starts from the model's initial parameters.
    LocalTrainer(const Model& model, const DataSource& data, int device,
                 const TrainingOptions& options);
    ~LocalTrainer();
    LocalTrainer(LocalTrainer&&) noexcept;

    std::vector<float> parameters() const;
    void set_parameters(std::span<const float> parameters);
    const OptimizerSettings& optimizer() const;
    void set_optimizer(const OptimizerSettings& settings);  ///< forgets momentum and so on

    /// One pass over these samples, in batches, in an order drawn from the seeds; at most
    /// `max_steps` batches, 0: all. Returns the mean loss. `proximal` > 0 adds
    /// proximal / 2 * |w - start|^2, where start is what set_parameters() set last.
    double train_epoch(std::span<const std::size_t> samples, std::uint64_t seed,
                       std::uint32_t max_steps = 0, double proximal = 0);
    std::uint64_t steps() const;
    Evaluation evaluate(const DataSource& data);

private:
    class State;
    std::unique_ptr<State> state_;
};

}  // namespace rondo::training
