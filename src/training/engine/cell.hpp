// One worker of one replica: parameters, gradients, optimiser, and its ends of all connections.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "rondo/training/train.hpp"
#include "training/engine/batches.hpp"
#include "training/engine/layout.hpp"
#include "training/engine/runner.hpp"
#include "training/model/optimizer.hpp"
#include "training/report/stream_clock.hpp"

namespace rondo::training {

/// Where the worker's parameters are in the array of all, and in its own.
struct CellParameters {
    std::vector<std::size_t> numbers;         ///< of the parameters it owns
    std::vector<std::size_t> global_offsets;  ///< by owned parameter
    std::vector<std::size_t> sizes;           ///< by owned parameter
    std::vector<std::size_t> local_offsets;   ///< by number; those of others are not used
    std::size_t count = 0;

    /// Those that `owns(number)` says.
    template <class Owns>
    static CellParameters select(std::span<const ParameterInfo> infos, Owns owns) {
        CellParameters result;
        std::size_t offset = 0;
        for (std::size_t p = 0; p < infos.size(); ++p) {
            result.local_offsets.push_back(result.count);
            if (owns(p)) {
                result.numbers.push_back(p);
                result.global_offsets.push_back(offset);
                result.sizes.push_back(infos[p].size);
                result.count += infos[p].size;
            }
            offset += infos[p].size;
        }
        return result;
    }
};

class Cell {
public:
    struct Options {
        std::uint32_t replica = 0;
        std::uint32_t worker = 0;
        int device = 0;
        CellParameters parameters;
        const Communicator* peers = nullptr;  ///< the same worker of all replicas; null: only one
        std::span<const ParameterInfo> infos;
        std::span<const std::optional<GradientAggregation>> aggregations;
        std::vector<bool> live;  ///< by parameter: gets a gradient in every step
        const TrainingOptions* training = nullptr;
        std::uint32_t number = 0;  ///< among all cells
        bool prescaled = false;    ///< gradients are weighted already, so weighted means are sums
        /// By sync: the order of its buckets in the run that goes on. Empty: a new run.
        std::vector<std::vector<std::size_t>> bucket_orders = {};
    };

    explicit Cell(Options options);
    const StreamRef stream() const { return stream_; }
    void set_runner(std::unique_ptr<StepRunner> runner) { runner_ = std::move(runner); }
    int device() const { return options_.device; }
    std::uint32_t replica() const { return options_.replica; }

    /// One step of the replica with these samples; `all_samples` is the whole batch. Blocks.
    void step(std::span<const std::size_t> samples, std::size_t all_samples);
    /// What was learned on since the last call: sums over the samples, and their number.
    struct Results {
        BatchStatistics sum = {};
        double samples = 0;
    };
    Results take_results() { return std::exchange(results_, {}); }
    /// By sync: its parameters in the order of its buckets.
    std::vector<std::vector<std::size_t>> bucket_orders() const;
    PipelineTimes times() const { return runner_->times(); }

    // Between steps. In the array of all parameters.
    void store_parameters(std::span<float> all) const;
    void load_parameters(std::span<const float> all);
    void store_state(OptimizerState& all) const;
    void load_state(const OptimizerState& all);

private:
    void make_syncs();
    template <class Values>
    void to_global(std::span<const float> own, Values& all) const;
    std::vector<float> to_local(std::span<const float> all) const;
    float scale_of(std::size_t samples, std::size_t all_samples) const;

    Options options_;
    Stream stream_;
    DeviceBuffer<float> parameters_;
    DeviceBuffer<float> gradients_;
    DeviceBuffer<BatchStatistics> statistics_;
    Optimizer optimizer_;
    std::vector<CommunicatorGradientSync> syncs_;
    /// By parameter: which sync, and its number there.
    std::map<std::size_t, std::pair<std::size_t, std::size_t>> sync_of_;
    std::unique_ptr<StepRunner> runner_;
    StreamClock clock_;
    std::uint64_t steps_ = 0;
    Results results_ = {};
};

}  // namespace rondo::training
