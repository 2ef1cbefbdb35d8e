// The forward and backward passes of one step on one device: of a whole model, or of a worker's
// part of a pipeline.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "cuda/stream.hpp"
#include "rondo/training/model.hpp"

namespace rondo::training {

/// One step, as a worker sees it.
struct StepWork {
    std::span<const std::size_t> samples;  ///< of the replica
    float scale = 1;
    const float* parameters = nullptr;
    float* gradients = nullptr;
    BatchStatistics* statistics = nullptr;
    std::function<void(std::size_t)> ready;  ///< by number among all parameters of the model
};

/// Seconds of all steps so far, of a worker of a pipeline.
struct PipelineTimes {
    double whole = 0;  ///< from the beginning of its first task of a step to the end of its last
    double busy = 0;   ///< in its tasks
};

class StepRunner {
public:
    virtual ~StepRunner() = default;
    /// Enqueues everything on the worker's compute stream.
    virtual void run(const StepWork& work) = 0;
    /// Waits for what is not in the compute stream. Throws what went wrong elsewhere.
    virtual void finish() {}
    /// The compute stream has ended the step.
    virtual void measure() {}
    virtual PipelineTimes times() const { return {}; }
};

}  // namespace rondo::training
