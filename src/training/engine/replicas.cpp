// Trains replicas of a model, each on one device or on the workers of a pipeline.
#include <deque>

#include <fmt/format.h>

#include "rondo/cuda_error.hpp"
#include "training/engine/cell.hpp"
#include "training/engine/coordinators.hpp"
#include "training/engine/evaluator.hpp"
#include "training/engine/model_runner.hpp"
#include "training/engine/pipeline_runner.hpp"
#include "training/engine/rounds.hpp"
#include "training/engine/worker_group.hpp"

namespace rondo::training {
namespace {

class ReplicaTraining {
public:
    ReplicaTraining(const TrainingJob& job, const TrainingLayout& layout)
        : job_(job),
          layout_(layout),
          infos_(job.model.parameters()),
          keeper_(job, job.options.epochs),
          // Later than the collectives, whose errors say more.
          meeting_(layout.cells(), 2 * job.options.timeout) {
        check_devices();
        resumed_ = keeper_.resume();
        make_communicators();
        if (layout.workers > 1) make_pipeline();
        for (std::uint32_t number = 0; number < layout.cells(); ++number) make_cell(number);
        if (job.options.validation != nullptr) {
            evaluator_.emplace(job.model, *job.options.validation, job.devices[0]);
        }
        begin();
    }

    TrainingReport run() {
        if (keeper_.running()) run_workers();
        return report();
    }

private:
    void run_workers() {
        try {
            run_worker_group({.workers = cells_.size(),
                              .name = [this](std::size_t number) { return name_of(number); },
                              .abort = [this] { abort(); }},
                             [this](std::size_t number) { work(number); });
        } catch (...) {
            if (between_epochs_failed_) std::rethrow_exception(between_epochs_failed_);
            throw;
        }
    }

    void check_devices() const {
        if (job_.devices.size() < layout_.cells()) {
            throw InvalidArgument(
                fmt::format("{} needs {} devices ({} replicas of {} workers); there are {}",
                            to_string(job_.strategy), layout_.cells(), layout_.replicas,
                            layout_.workers, job_.devices.size()));
        }
    }

    int device_of(std::uint32_t replica, std::uint32_t worker) const {
        return job_.devices[replica * layout_.workers + worker];
    }

    void make_communicators() {
        if (layout_.replicas == 1) return;
        for (std::uint32_t w = 0; w < layout_.workers; ++w) {
            CommunicatorOptions options{.timeout = job_.options.timeout};
            for (std::uint32_t r = 0; r < layout_.replicas; ++r) {
                options.devices.push_back(device_of(r, w));
            }
            columns_.push_back(Communicator::create(options));
        }
    }

    /// Samples of the largest part of a replica.
    std::size_t replica_samples() const {
        return (job_.options.batch_size + layout_.replicas - 1) / layout_.replicas;
    }

    void make_pipeline() {
        const GraphPlan& graph = job_.graph->plan();
        const std::vector<Segment> segments = cut_segments(graph, layout_.worker_of_node);
        std::vector<std::uint32_t> workers;
        for (const Segment& segment : segments) workers.push_back(segment.worker);
        const PipelineTimetable table =
            make_timetable(layout_.pipeline.pipeline, workers, layout_.pipeline.micro_batches);
        pipeline_.emplace(
            PipelinePlan{graph, layout_.worker_of_node, segments, table,
                         list_messages(graph, layout_.worker_of_node, segments, table),
                         replica_samples() / layout_.pipeline.micro_batches + 1});
        for (std::uint32_t r = 0; r < layout_.replicas; ++r) {
            TransportOptions options{.protocol = layout_.pipeline.communication,
                                     .devices = {},
                                     .messages = pipeline_->messages,
                                     .message_floats = pipeline_->message_floats(),
                                     .timeout = job_.options.timeout};
            for (std::uint32_t w = 0; w < layout_.workers; ++w) {
                options.devices.push_back(device_of(r, w));
            }
            hubs_.push_back(make_transport_hub(options));
            transports_.push_back(std::move(options));
        }
    }

    void make_cell(std::uint32_t number) {
        const std::uint32_t r = number / layout_.workers, w = number % layout_.workers;
        const auto owns = [&](std::size_t p) {
            return layout_.workers == 1 ||
                   layout_.worker_of_node[job_.graph->plan().owners[p]] == w;
        };
        Cell::Options options{.replica = r,
                              .worker = w,
                              .device = device_of(r, w),
                              .parameters = CellParameters::select(infos_, owns),
                              .peers = columns_.empty() ? nullptr : &columns_[w],
                              .infos = infos_,
                              .aggregations = layout_.aggregations,
                              .live = live_parameters(),
                              .training = &job_.options,
                              .number = number,
                              .prescaled = layout_.all_weighted(),
                              .bucket_orders = saved_orders(w)};
        const std::vector<std::size_t> offsets = options.parameters.local_offsets;
        Cell& cell = cells_.emplace_back(std::move(options));
        if (layout_.workers == 1) {
            cell.set_runner(std::make_unique<ModelRunner>(job_.model, job_.data, cell.stream(),
                                                          replica_samples(), parts_of_batch()));
        } else {
            cell.set_runner(
                std::make_unique<PipelineRunner>(*pipeline_, job_.data, cell.stream(), w, offsets,
                                                 make_transport(hubs_[r], transports_[r], w)));
        }
    }

    /// A model-parallel graph on one worker has its micro-batches too: the same bits as on several.
    std::uint32_t parts_of_batch() const {
        return layout_.pipeline.partitions.empty() ? job_.options.accumulation
                                                   : layout_.pipeline.micro_batches;
    }

    /// Sums of floats depend on what is in a bucket with what, so its order goes on too.
    std::vector<std::vector<std::size_t>> saved_orders(std::uint32_t worker) const {
        std::vector<std::vector<std::size_t>> orders;
        while (resumed_ && resumed_->numbers.contains(order_name(worker, orders.size()))) {
            const auto& numbers = resumed_->numbers_at(order_name(worker, orders.size()));
            orders.emplace_back(numbers.begin(), numbers.end());
        }
        return orders;
    }
    static std::string order_name(std::uint32_t worker, std::size_t sync) {
        return fmt::format("worker {}/sync {}/order", worker, sync);
    }

    std::vector<bool> live_parameters() const {
        std::vector<bool> live(infos_.size(), true);
        for (std::size_t p = 0; p < infos_.size() && job_.graph != nullptr; ++p) {
            live[p] = job_.graph->plan().nodes[job_.graph->plan().owners[p]].live;
        }
        return live;
    }

    /// From the start, or from a checkpoint.
    void begin() {
        std::vector<float> parameters(parameter_count(infos_));
        job_.model.initialize(parameters, job_.options.seed);
        const std::optional<Checkpoint> checkpoint = std::exchange(resumed_, {});
        for (Cell& cell : cells_) {
            if (!checkpoint) {
                cell.load_parameters(parameters);
                continue;
            }
            const std::string prefix = prefix_of(cell.replica());
            cell.load_parameters(sized(checkpoint->array_at(prefix + "parameters")));
            OptimizerState state{.steps = checkpoint->count_at("optimizer steps"),
                                 .first = sized(checkpoint->array_at(prefix + "first")),
                                 .second = {}};
            if (std::holds_alternative<Adam>(job_.options.optimizer)) {
                state.second = sized(checkpoint->array_at(prefix + "second"));
            }
            cell.load_state(state);
        }
    }

    const std::vector<float>& sized(const std::vector<float>& values) const {
        if (values.size() != parameter_count(infos_)) {
            throw CheckpointError(fmt::format("the checkpoint has {} values where {} are needed",
                                              values.size(), parameter_count(infos_)));
        }
        return values;
    }

    /// Replicas are equal, unless something stays with them.
    std::string prefix_of(std::uint32_t replica) const {
        return fmt::format("replica {}/", layout_.any_unsynchronized() ? replica : 0);
    }

    void save() const {
        Checkpoint checkpoint;
        const std::uint32_t different = layout_.any_unsynchronized() ? layout_.replicas : 1;
        for (std::uint32_t r = 0; r < different; ++r) {
            OptimizerState state;
            for (std::uint32_t w = 0; w < layout_.workers; ++w) {
                cells_[r * layout_.workers + w].store_state(state);
            }
            const std::string prefix = prefix_of(r);
            checkpoint.arrays[prefix + "parameters"] = parameters_of(r);
            checkpoint.arrays[prefix + "first"] = state.first;
            checkpoint.arrays[prefix + "second"] = state.second;
            checkpoint.counts["optimizer steps"] = state.steps;
        }
        for (std::uint32_t w = 0; w < layout_.workers; ++w) {
            const auto orders = cells_[w].bucket_orders();
            for (std::size_t s = 0; s < orders.size(); ++s) {
                checkpoint.numbers[order_name(w, s)] = {orders[s].begin(), orders[s].end()};
            }
        }
        keeper_.save(std::move(checkpoint));
    }

    std::vector<float> parameters_of(std::uint32_t replica) const {
        std::vector<float> all(parameter_count(infos_));
        for (std::uint32_t w = 0; w < layout_.workers; ++w) {
            cells_[replica * layout_.workers + w].store_parameters(all);
        }
        return all;
    }

    void work(std::size_t number) {
        Cell& cell = cells_[number];
        const std::size_t batch_size = job_.options.batch_size;
        const std::size_t steps = batch_count(job_.data.size(), batch_size);
        // Between meetings nobody changes what running() reads.
        while (keeper_.running()) {
            const std::vector<std::size_t> order = epoch_order(
                job_.data.size(), job_.options.shuffle, job_.options.seed, keeper_.round());
            for (std::size_t step = 0; step < steps; ++step) {
                const auto batch = batch_of(order, batch_size, step);
                const auto part = replica_part(batch, layout_.replicas, cell.replica());
                cell.step(part, batch.size());
                // Buffers in host memory are filled again in the next step.
                if (through_host()) meeting_.meet(number);
            }
            meeting_.meet(number, [&] {
                try {
                    finish_epoch(steps);
                } catch (const CudaError&) {
                    throw;  // a device is the matter
                } catch (...) {
                    between_epochs_failed_ = std::current_exception();
                    throw;
                }
            });
        }
    }

    bool through_host() const {
        return pipeline_ && layout_.pipeline.communication == CommunicationProtocol::through_host;
    }

    /// All workers wait meanwhile.
    void finish_epoch(std::size_t steps) {
        double loss = 0, samples = 0;
        for (std::uint32_t r = 0; r < layout_.replicas; ++r) {
            Cell::Results own;
            for (std::uint32_t w = 0; w < layout_.workers; ++w) {
                const Cell::Results part = cells_[r * layout_.workers + w].take_results();
                own.sum.loss += part.sum.loss;
                own.sum.correct += part.sum.correct;
                own.samples = std::max(own.samples, part.samples);
            }
            const double seen = std::max(own.samples, 1.0);
            keeper_.add_point(fmt::format("worker {}", r), own.sum.loss / seen,
                              job_.training_accuracy(own.sum.correct / seen));
            loss += own.sum.loss;
            samples += own.samples;
        }
        std::optional<Evaluation> validation;
        if (evaluator_) validation = evaluator_->evaluate(parameters_of(0));
        last_validation_ = validation;
        keeper_.finish_round(keeper_.steps() + steps, loss / std::max(samples, 1.0), validation);
        if (keeper_.wants_checkpoint()) save();
    }

    std::string name_of(std::size_t number) const {
        return layout_.workers == 1
                   ? fmt::format("worker {} (device {})", number, cells_[number].device())
                   : fmt::format("worker {} of replica {} (device {})", number % layout_.workers,
                                 number / layout_.workers, cells_[number].device());
    }

    void abort() {
        for (Communicator& column : columns_) column.abort();
        for (const auto& hub : hubs_) hub->abort();
        meeting_.abort();
    }

    /// Of all replicas' steps: the idle time of the busiest worker in relation to its work. The
    /// worker of the first segment has the first forward and the last backward.
    double measured_bubble() const {
        double whole = 0, busy = 0;
        for (std::uint32_t r = 0; r < layout_.replicas; ++r) {
            double most = 0;
            for (std::uint32_t w = 0; w < layout_.workers; ++w) {
                const PipelineTimes times = cells_[r * layout_.workers + w].times();
                most = std::max(most, times.busy);
                if (w == pipeline_->segments.front().worker) whole += times.whole;
            }
            busy += most;
        }
        return busy > 0 ? std::max(0.0, whole / busy - 1) : 0;
    }

    TrainingReport report() {
        TrainingReport report{
            .strategy = job_.strategy, .parameter_infos = infos_, .parameters = parameters_of(0)};
        if (evaluator_ && !last_validation_) {
            last_validation_ = evaluator_->evaluate(report.parameters);
        }
        report.validation = last_validation_;
        if (pipeline_) {
            report.timetable = to_string(pipeline_->table);
            report.bubble = pipeline_->table.bubble();
            report.measured_bubble = measured_bubble();
        }
        keeper_.complete(report);
        return report;
    }

    const TrainingJob& job_;
    const TrainingLayout& layout_;
    std::vector<ParameterInfo> infos_;
    RoundKeeper keeper_;
    Meeting meeting_;
    std::optional<Checkpoint> resumed_;  ///< until begin()
    std::vector<Communicator> columns_;
    std::optional<PipelinePlan> pipeline_;
    std::vector<TransportOptions> transports_;
    std::vector<std::shared_ptr<TransportHub>> hubs_;
    std::deque<Cell> cells_;
    std::optional<Evaluator> evaluator_;
    std::optional<Evaluation> last_validation_;
    /// A callback or a file, not a worker.
    std::exception_ptr between_epochs_failed_;
};

}  // namespace

TrainingReport train_replicas(const TrainingJob& job, const TrainingLayout& layout) {
    return ReplicaTraining(job, layout).run();
}

}  // namespace rondo::training
