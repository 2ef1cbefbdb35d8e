// A worker of a pipeline: runs its tasks of the timetable, and posts messages in the order on which
// all workers agree.
#pragma once

#include <map>
#include <tuple>

#include "training/engine/batches.hpp"
#include "training/engine/runner.hpp"
#include "training/engine/task_clock.hpp"
#include "training/engine/transport.hpp"
#include "training/model/graph_stage.hpp"

namespace rondo::training {

/// The same for all workers of all replicas.
struct PipelinePlan {
    const GraphPlan& graph;
    std::vector<std::uint32_t> worker_of_node;
    std::vector<Segment> segments;
    PipelineTimetable table;
    std::vector<PipelineMessage> messages;
    std::size_t max_rows = 1;  ///< of a micro-batch

    std::vector<std::size_t> message_floats() const;
    /// Micro-batches that a worker keeps at once.
    std::size_t slots_of(std::uint32_t worker) const;
};

class PipelineRunner final : public StepRunner {
public:
    /// `offsets`: of each parameter in the worker's arrays.
    PipelineRunner(const PipelinePlan& plan, const DataSource& data, StreamRef stream,
                   std::uint32_t worker, std::vector<std::size_t> offsets,
                   std::unique_ptr<Transport> transport);

    void run(const StepWork& work) override;
    void finish() override { transport_->finish_step(); }
    void measure() override { clock_.add_step(); }
    PipelineTimes times() const override { return clock_.times(); }

private:
    void post_until(std::size_t task);
    void forward(const PipelineTask& task, const StepWork& work);
    void backward(const PipelineTask& task, const StepWork& work);
    void send_results(std::size_t task);
    std::size_t rows_of(std::uint32_t micro) const { return rows_[micro]; }
    std::size_t count_of(const PipelineMessage& message) const {
        return rows_[message.micro_batch] * plan_.graph.nodes[message.node].width;
    }

    const PipelinePlan& plan_;
    StreamRef stream_;
    std::uint32_t worker_;
    std::unique_ptr<Transport> transport_;
    TaskClock clock_;
    GraphStage stage_;
    BatchUploader uploader_;
    std::size_t slots_;
    DeviceBuffer<float> message_memory_;
    std::map<std::size_t, float*> message_buffers_;
    std::map<std::tuple<std::uint32_t, std::size_t, std::size_t>, std::size_t> edges_;
    // Of the step.
    std::vector<std::size_t> rows_;
    std::vector<Batch> batches_;
    std::size_t next_message_ = 0;
    std::vector<std::vector<std::size_t>> contributions_;  ///< received, by micro-batch
    std::vector<std::vector<std::size_t>> values_;         ///< received, by micro-batch
};

}  // namespace rondo::training
