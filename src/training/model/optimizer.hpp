// An optimiser with its state on a device.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cuda/buffer.hpp"
#include "rondo/training/optimizer.hpp"

namespace rondo::training {

/// What an optimiser remembers, on the host: for checkpoints and for members that are copied.
struct OptimizerState {
    std::uint64_t steps = 0;
    std::vector<float> first;   ///< velocity, or mean of gradients; may be empty
    std::vector<float> second;  ///< mean of squares; may be empty
};

class Optimizer {
public:
    /// Throws where validate() does.
    Optimizer(StreamRef stream, const OptimizerSettings& settings, std::size_t count);

    const OptimizerSettings& settings() const { return settings_; }
    /// From the next step on. The kind must stay.
    void change_settings(const OptimizerSettings& settings);

    /// Enqueues one step.
    void step(float* parameters, const float* gradients);

    /// Blocks.
    OptimizerState state() const;
    /// Blocks. Throws InvalidArgument when it is the state of another kind or size.
    void set_state(const OptimizerState& state);

private:
    StreamRef stream_;
    OptimizerSettings settings_;
    std::size_t count_;
    std::uint64_t steps_ = 0;
    DeviceBuffer<float> first_;
    DeviceBuffer<float> second_;
};

/// Settings by the names that PopulationBased uses. Throws InvalidArgument for another name.
double hyperparameter(const OptimizerSettings& settings, std::string_view name);
void set_hyperparameter(OptimizerSettings& settings, std::string_view name, double value);

}  // namespace rondo::training
