// See the header.
#include "training/engine/pipeline_runner.hpp"

#include <algorithm>

namespace rondo::training {
namespace {

std::vector<bool> owned_nodes(const PipelinePlan& plan, std::uint32_t worker) {
    std::vector<bool> owned;
    for (const std::uint32_t owner : plan.worker_of_node) owned.push_back(owner == worker);
    return owned;
}

/// What a worker receives, and gradients that it sends; values are sent from where they are.
bool needs_buffer(const PipelineMessage& message, std::uint32_t worker) {
    return message.to == worker || (message.gradient && message.from == worker);
}

std::size_t tasks_of(const PipelinePlan& plan, std::uint32_t worker) {
    return static_cast<std::size_t>(
        std::ranges::count(plan.table.tasks, worker, &PipelineTask::worker));
}

std::size_t message_memory(const PipelinePlan& plan, std::uint32_t worker) {
    const std::vector<std::size_t> floats = plan.message_floats();
    std::size_t sum = 0;
    for (std::size_t m = 0; m < plan.messages.size(); ++m) {
        if (needs_buffer(plan.messages[m], worker)) sum += floats[m];
    }
    return sum;
}

}  // namespace

std::vector<std::size_t> PipelinePlan::message_floats() const {
    std::vector<std::size_t> floats;
    for (const PipelineMessage& message : messages) {
        floats.push_back(max_rows * graph.nodes[message.node].width);
    }
    return floats;
}

std::size_t PipelinePlan::slots_of(std::uint32_t worker) const {
    std::size_t slots = 1;
    for (std::uint32_t s = 0; s < segments.size(); ++s) {
        if (segments[s].worker == worker) {
            slots = std::max<std::size_t>(slots, table.most_in_flight(s));
        }
    }
    return slots;
}

PipelineRunner::PipelineRunner(const PipelinePlan& plan, const DataSource& data, StreamRef stream,
                               std::uint32_t worker, std::vector<std::size_t> offsets,
                               std::unique_ptr<Transport> transport)
    : plan_(plan),
      stream_(stream),
      worker_(worker),
      transport_(std::move(transport)),
      clock_(stream.device(), tasks_of(plan, worker)),
      stage_(plan.graph, stream,
             {.owned = owned_nodes(plan, worker),
              .offsets = std::move(offsets),
              .slots = plan.slots_of(worker),
              .max_rows = plan.max_rows}),
      uploader_(stream, data, plan.table.micro_batches, plan.max_rows),
      slots_(plan.slots_of(worker)),
      message_memory_(stream.device(), message_memory(plan, worker)) {
    const std::vector<std::size_t> floats = plan.message_floats();
    float* next = message_memory_.data();
    for (std::size_t m = 0; m < plan.messages.size(); ++m) {
        const PipelineMessage& message = plan.messages[m];
        if (!needs_buffer(message, worker)) continue;
        message_buffers_[m] = next;
        next += floats[m];
        if (message.gradient && message.from == worker) {
            edges_[{message.micro_batch, message.node, message.consumer}] = m;
        }
    }
}

void PipelineRunner::run(const StepWork& work) {
    const std::uint32_t micro_batches = plan_.table.micro_batches;
    rows_.clear();
    batches_.clear();
    for (std::uint32_t m = 0; m < micro_batches; ++m) {
        const auto part = micro_batch(work.samples, micro_batches, m);
        rows_.push_back(part.size());
        batches_.push_back(uploader_.upload(m, part));
    }
    next_message_ = 0;
    clock_.begin_step();
    contributions_.assign(micro_batches, {});
    values_.assign(micro_batches, {});
    stage_.bind(work.parameters, work.gradients);
    for (std::size_t t = 0; t < plan_.table.tasks.size(); ++t) {
        const PipelineTask& task = plan_.table.tasks[t];
        if (task.worker != worker_) continue;
        post_until(t);
        if (task.backward) {
            backward(task, work);
        } else {
            forward(task, work);
        }
        clock_.mark(stream_);
        send_results(t);
    }
    post_until(plan_.table.tasks.size());
}

/// Messages that tasks before `task` produce. Own ones were sent when they were produced.
void PipelineRunner::post_until(std::size_t task) {
    for (; next_message_ < plan_.messages.size() && plan_.messages[next_message_].task < task;
         ++next_message_) {
        const PipelineMessage& message = plan_.messages[next_message_];
        const std::size_t count = count_of(message);
        if (message.from == worker_ || count == 0) continue;
        if (message.to != worker_) {
            transport_->pass(next_message_, count);
            continue;
        }
        transport_->receive(next_message_, message_buffers_.at(next_message_), count);
        (message.gradient ? contributions_ : values_)[message.micro_batch].push_back(next_message_);
    }
}

void PipelineRunner::send_results(std::size_t task) {
    for (; next_message_ < plan_.messages.size() && plan_.messages[next_message_].task == task;
         ++next_message_) {
        const PipelineMessage& message = plan_.messages[next_message_];
        const std::size_t count = count_of(message);
        if (count == 0) continue;
        const float* const data = message.gradient
                                      ? message_buffers_.at(next_message_)
                                      : stage_.value(message.micro_batch % slots_, message.node);
        transport_->send(next_message_, data, count, stream_);
    }
}

void PipelineRunner::forward(const PipelineTask& task, const StepWork& work) {
    const std::uint32_t m = task.micro_batch;
    const std::size_t slot = m % slots_;
    const Segment& segment = plan_.segments[task.segment];
    bool first = true;  // of this worker's segments
    for (std::uint32_t s = 0; s < task.segment; ++s) first &= plan_.segments[s].worker != worker_;
    if (first) stage_.begin(slot, rows_of(m), batches_[m].features);
    for (const std::size_t received : values_[m]) {
        stage_.set_value(slot, plan_.messages[received].node, message_buffers_.at(received));
        transport_->wait_for(received, stream_);
    }
    values_[m].clear();
    clock_.mark(stream_);
    stage_.forward(slot, segment.first, segment.last);
    if (segment.last == plan_.graph.nodes.size()) {
        stage_.loss(slot, batches_[m].targets, work.scale,
                    reinterpret_cast<kernels::RowResult*>(work.statistics));
    }
}

void PipelineRunner::backward(const PipelineTask& task, const StepWork& work) {
    const std::uint32_t m = task.micro_batch;
    const std::size_t slot = m % slots_;
    const Segment& segment = plan_.segments[task.segment];
    for (const std::size_t received : contributions_[m]) {
        transport_->wait_for(received, stream_);
    }
    clock_.mark(stream_);
    for (const std::size_t received : contributions_[m]) {
        stage_.contribute(slot, plan_.messages[received].node, message_buffers_.at(received));
    }
    contributions_[m].clear();
    stage_.set_edge_target([this, m](std::size_t, std::size_t producer, std::size_t consumer) {
        return message_buffers_.at(edges_.at({m, producer, consumer}));
    });
    const bool last = m + 1 == plan_.table.micro_batches;
    stage_.backward(slot, segment.first, segment.last, m > 0,
                    last ? work.ready : std::function<void(std::size_t)>());
}

}  // namespace rondo::training
