// See the header.
#include "training/model/graph_stage.hpp"

namespace rondo::training {
namespace {

/// Floats for values and gradients of all owned live nodes, in all slots.
std::size_t stage_floats(const GraphPlan& plan, const GraphStageOptions& options) {
    std::size_t widths = 0;
    for (std::size_t n = 0; n < plan.nodes.size(); ++n) {
        if (options.owned[n] && plan.nodes[n].live) widths += plan.nodes[n].width;
    }
    return 2 * widths * options.slots * options.max_rows;
}

kernels::Function function_of(Operation operation) {
    return operation == Operation::relu   ? kernels::Function::relu
           : operation == Operation::tanh ? kernels::Function::tanh
                                          : kernels::Function::sigmoid;
}

}  // namespace

GraphStage::GraphStage(const GraphPlan& plan, StreamRef stream, GraphStageOptions options)
    : plan_(plan),
      stream_(stream),
      options_(std::move(options)),
      memory_(stream.device(), stage_floats(plan, options_)),
      results_(stream.device(), options_.max_rows),
      slots_(options_.slots) {
    float* next = memory_.data();
    for (Slot& slot : slots_) {
        slot.values.resize(plan.nodes.size());
        slot.gradients.resize(plan.nodes.size());
        slot.contributed.resize(plan.nodes.size());
        for (std::size_t n = 0; n < plan.nodes.size(); ++n) {
            if (!options_.owned[n] || !plan.nodes[n].live) continue;
            const std::size_t count = plan.nodes[n].width * options_.max_rows;
            slot.values[n] = next;
            slot.gradients[n] = next + count;
            next += 2 * count;
        }
    }
}

void GraphStage::begin(std::size_t slot, std::size_t rows, const float* features) {
    slots_[slot].rows = rows;
    slots_[slot].features = features;
    slots_[slot].contributed.assign(plan_.nodes.size(), 0);
}

void GraphStage::forward(std::size_t slot, std::size_t first, std::size_t last) {
    for (std::size_t n = first; n < last; ++n) {
        if (options_.owned[n] && plan_.nodes[n].live) forward_node(slots_[slot], n);
    }
}

void GraphStage::forward_node(const Slot& slot, std::size_t n) {
    const PlannedNode& node = plan_.nodes[n];
    const float* const x = input_of(slot, node.inputs[0]);
    switch (node.operation) {
        case Operation::dense: {
            const float* const weights = parameters_ + options_.offsets[node.weights];
            const float* const bias = parameters_ + options_.offsets[node.weights + 1];
            launch(stream_, kernels::DenseForward{x, weights, bias, slot.values[n], slot.rows,
                                                  node.input_width(plan_, 0), node.width});
            return;
        }
        case Operation::add:
        case Operation::concat: {
            std::size_t column = 0;
            for (std::size_t i = 0; i < node.inputs.size(); ++i) {
                const std::size_t width = node.input_width(plan_, i);
                const bool adds = node.operation == Operation::add;
                launch(stream_, kernels::MoveColumns{input_of(slot, node.inputs[i]), slot.values[n],
                                                     slot.rows, width, width, 0, node.width,
                                                     adds ? 0 : column, adds && i > 0});
                column += width;
            }
            return;
        }
        case Operation::relu:
        case Operation::tanh:
        case Operation::sigmoid:
            launch(stream_, kernels::ActivationForward{x, slot.values[n], slot.rows * node.width,
                                                       function_of(node.operation)});
            return;
    }
}

void GraphStage::loss(std::size_t slot, const float* targets, std::optional<float> scale,
                      kernels::RowResult* statistics) {
    Slot& at = slots_[slot];
    const std::size_t last = plan_.output(), width = plan_.nodes[last].width;
    float* const gradient = scale ? at.gradients[last] : nullptr;
    at.contributed[last] = 1;
    if (plan_.loss == Loss::cross_entropy) {
        launch(stream_, kernels::CrossEntropy{at.values[last], targets, gradient, results_.data(),
                                              at.rows, width, scale.value_or(0)});
    } else {
        launch(stream_, kernels::RegressionLoss{at.values[last], targets, gradient, results_.data(),
                                                at.rows, width, scale.value_or(0),
                                                plan_.loss == Loss::absolute_error});
    }
    launch(stream_, kernels::SumResults{results_.data(), statistics, at.rows});
}

void GraphStage::contribute(std::size_t slot, std::size_t producer, const float* gradient) {
    Slot& at = slots_[slot];
    const std::size_t width = plan_.nodes[producer].width;
    launch(stream_, kernels::MoveColumns{gradient, at.gradients[producer], at.rows, width, width, 0,
                                         width, 0, at.contributed[producer] != 0});
    at.contributed[producer] = 1;
}

void GraphStage::backward(std::size_t slot, std::size_t first, std::size_t last, bool accumulate,
                          const Ready& ready) {
    for (std::size_t n = last; n-- > first;) {
        const PlannedNode& node = plan_.nodes[n];
        if (!options_.owned[n] || !node.live) continue;
        backward_node(slot, n, accumulate);
        if (node.weights != no_parameter && ready) {
            ready(node.weights + 1);
            ready(node.weights);
        }
    }
}

std::pair<float*, bool> GraphStage::gradient_target(std::size_t slot, std::size_t producer,
                                                    std::size_t consumer) {
    if (!options_.owned[producer]) return {edge_target_(slot, producer, consumer), false};
    Slot& at = slots_[slot];
    const bool adds = at.contributed[producer] != 0;
    at.contributed[producer] = 1;
    return {at.gradients[producer], adds};
}

void GraphStage::add_columns(const Slot& slot, std::size_t consumer, std::size_t producer,
                             std::size_t first_column, std::pair<float*, bool> target) {
    const std::size_t width = plan_.nodes[producer].width;
    launch(stream_, kernels::MoveColumns{slot.gradients[consumer], target.first, slot.rows, width,
                                         plan_.nodes[consumer].width, first_column, width, 0,
                                         target.second});
}

void GraphStage::backward_node(std::size_t slot_index, std::size_t n, bool accumulate) {
    const Slot& slot = slots_[slot_index];
    const PlannedNode& node = plan_.nodes[n];
    const float* const dy = slot.gradients[n];
    const std::size_t first = node.inputs[0];
    if (node.operation == Operation::dense) {
        const std::size_t in = node.input_width(plan_, 0);
        launch(stream_, kernels::DenseBackwardWeights{
                            input_of(slot, first), dy, gradients_ + options_.offsets[node.weights],
                            gradients_ + options_.offsets[node.weights + 1], slot.rows, in,
                            node.width, accumulate});
        if (first == input_node) return;
        const auto [target, adds] = gradient_target(slot_index, first, n);
        launch(stream_,
               kernels::DenseBackwardInput{dy, parameters_ + options_.offsets[node.weights], target,
                                           slot.rows, in, node.width, adds});
        return;
    }
    if (node.operation == Operation::add || node.operation == Operation::concat) {
        std::size_t column = 0;
        for (std::size_t i = 0; i < node.inputs.size(); ++i) {
            const std::size_t producer = node.inputs[i];
            if (producer != input_node) {
                add_columns(slot, n, producer, node.operation == Operation::add ? 0 : column,
                            gradient_target(slot_index, producer, n));
            }
            column += node.input_width(plan_, i);
        }
        return;
    }
    if (first == input_node) return;
    const auto [target, adds] = gradient_target(slot_index, first, n);
    launch(stream_, kernels::ActivationBackward{slot.values[n], dy, target, slot.rows * node.width,
                                                function_of(node.operation), adds});
}

}  // namespace rondo::training
