// Computes nodes of a graph on one device, forward and backward: all of them, or those that a
// worker of a pipeline owns.
//
// Gradients of a node that several others use are added up in descending order of the users,
// wherever those are; so a pipeline has the same bits as one device.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "cuda/buffer.hpp"
#include "training/kernels/launch.hpp"
#include "training/model/graph_plan.hpp"

namespace rondo::training {

struct GraphStageOptions {
    std::vector<bool> owned;           ///< by node
    std::vector<std::size_t> offsets;  ///< of each parameter in this stage's arrays
    std::size_t slots = 1;             ///< micro-batches whose activations are kept at once
    std::size_t max_rows = 1;
};

class GraphStage {
public:
    GraphStage(const GraphPlan& plan, StreamRef stream, GraphStageOptions options);

    /// The arrays that forward() and backward() use from now on.
    void bind(const float* parameters, float* gradients) {
        parameters_ = parameters;
        gradients_ = gradients;
    }
    /// Begins a micro-batch in a slot.
    void begin(std::size_t slot, std::size_t rows, const float* features);
    /// Where a value that another worker computed was received.
    void set_value(std::size_t slot, std::size_t node, float* value) {
        slots_[slot].values[node] = value;
    }
    const float* value(std::size_t slot, std::size_t node) const {
        return slots_[slot].values[node];
    }
    /// Where the gradient for a node of another worker is to be written.
    using EdgeTarget =
        std::function<float*(std::size_t slot, std::size_t producer, std::size_t consumer)>;
    void set_edge_target(EdgeTarget target) { edge_target_ = std::move(target); }

    /// Owned nodes in [first, last).
    void forward(std::size_t slot, std::size_t first, std::size_t last);
    /// Adds to the statistics; with a scale also begins the backward pass.
    void loss(std::size_t slot, const float* targets, std::optional<float> scale,
              kernels::RowResult* statistics);
    /// A gradient that a user of `producer` on another worker computed.
    void contribute(std::size_t slot, std::size_t producer, const float* gradient);
    using Ready = std::function<void(std::size_t parameter)>;
    /// Owned nodes in [first, last), from the last on. `ready` is called where a parameter's
    /// gradient is complete.
    void backward(std::size_t slot, std::size_t first, std::size_t last, bool accumulate,
                  const Ready& ready);

private:
    struct Slot {
        std::size_t rows = 0;
        const float* features = nullptr;
        std::vector<float*> values;
        std::vector<float*> gradients;
        std::vector<char> contributed;
    };

    const float* input_of(const Slot& slot, std::size_t node) const {
        return node == input_node ? slot.features : slot.values[node];
    }
    void forward_node(const Slot& slot, std::size_t n);
    void backward_node(std::size_t slot_index, std::size_t n, bool accumulate);
    /// Where the gradient of an input goes, and whether it is added to what is there.
    std::pair<float*, bool> gradient_target(std::size_t slot, std::size_t producer,
                                            std::size_t consumer);
    void add_columns(const Slot& slot, std::size_t consumer, std::size_t producer,
                     std::size_t first_column, std::pair<float*, bool> target);

    const GraphPlan& plan_;
    StreamRef stream_;
    GraphStageOptions options_;
    const float* parameters_ = nullptr;
    float* gradients_ = nullptr;
    EdgeTarget edge_target_;
    DeviceBuffer<float> memory_;
    DeviceBuffer<kernels::RowResult> results_;
    std::vector<Slot> slots_;
};

}  // namespace rondo::training
