// A model that learns on one device, without anybody else.
#pragma once

#include <memory>
#include <optional>

#include "rondo/training/coordinator.hpp"
#include "training/engine/batches.hpp"
#include "training/engine/evaluator.hpp"
#include "training/model/optimizer.hpp"

namespace rondo::training {

class Trainee {
public:
    Trainee(const Model& model, const DataSource& data, int device, const TrainingOptions& options);

    std::size_t parameter_count() const { return parameters_.size(); }
    std::vector<float> parameters() const;
    /// Throws InvalidArgument for another number of parameters.
    void set_parameters(std::span<const float> parameters);
    const OptimizerSettings& optimizer_settings() const { return optimizer_->settings(); }
    /// With an empty state.
    void reset_optimizer(const OptimizerSettings& settings);
    /// Keeping the state.
    void change_optimizer(const OptimizerSettings& settings) {
        optimizer_->change_settings(settings);
    }
    OptimizerState optimizer_state() const { return optimizer_->state(); }
    void set_optimizer_state(const OptimizerState& state) { optimizer_->set_state(state); }

    std::uint64_t steps() const { return steps_; }
    /// LocalTrainer::train_epoch().
    double train_epoch(std::span<const std::size_t> samples, const Random& random,
                       std::uint32_t max_steps, double proximal);
    /// Share of the samples of the last epoch that were right when they were learned on.
    double accuracy() const { return accuracy_; }
    Evaluation evaluate(const DataSource& data);

private:
    /// Returns sums over the samples.
    BatchStatistics train_step(std::span<const std::size_t> batch, double proximal);

    const Model& model_;
    const TrainingOptions& options_;
    int device_;
    Stream stream_;
    std::unique_ptr<ModelInstance> instance_;
    BatchUploader uploader_;
    DeviceBuffer<float> parameters_;
    DeviceBuffer<float> start_;
    DeviceBuffer<float> gradients_;
    DeviceBuffer<BatchStatistics> statistics_;
    std::optional<Optimizer> optimizer_;
    std::uint64_t steps_ = 0;
    double accuracy_ = 0;
};

}  // namespace rondo::training
