// Gradients on GPUs: averaged in buckets while the backward pass still runs.
//
//     CommunicatorGradientSync sync(comm, rank, {{"w2", 0, 4096}, {"w1", 4096, 65536}});
//     sync.begin_step(gradients, stream);
//     ...                         // the backward pass enqueues its kernels on `stream` and calls
//     sync.gradient_ready(1);     // this as soon as the gradient of a parameter is enqueued
//     sync.gradient_ready(0);
//     sync.finish_step();         // what comes behind on `stream` sees the means
//     sync.wait();                // the host waits; throws what went wrong
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rondo/communicator.hpp"
#include "rondo/export.hpp"
#include "rondo/training/gradient_sync.hpp"
#include "rondo/training/strategy.hpp"
#include "rondo/training/timeline.hpp"

namespace rondo::training {

/// Where the gradient of a parameter lies in the array that begin_step() is given.
struct GradientSlice {
    std::string name = {};
    std::size_t offset = 0;
    std::size_t size = 0;
};

/// What travels. The half types divide before they reduce, so that sums stay in range, and round
/// once more.
enum class GradientHook : std::uint8_t { plain, bf16, f16 };

struct BucketOptions {
    std::size_t bucket_bytes = std::size_t{25} << 20;
    /// The first is small, so that it leaves early.
    std::size_t first_bucket_bytes = std::size_t{1} << 20;
    GradientHook hook = GradientHook::plain;
    GradientAggregation aggregation = GradientAggregation::mean;
    /// Parameters that are not ready at the end of a step count as 0. used() tells which nobody
    /// used. Costs a small collective per step. Otherwise they are an error.
    bool find_unused = false;
    /// After the first step, buckets are made anew in the order in which rank 0 became ready.
    bool rebuild = true;
    /// That order, where it is known from an earlier run: all parameters, each once. Then buckets
    /// are made by it from the start and stay. Empty: not known.
    std::vector<std::size_t> order = {};
    /// Workers may have different numbers of steps: those who are done call join(). Costs a small
    /// collective per step.
    bool uneven_inputs = false;
    /// For aggregation mean with uneven inputs: divide by all workers, or by those still at work.
    bool divide_by_all_workers = true;
};

/// One worker's end. All workers make it with the same parameters and options, and take the same
/// steps; then buckets are launched in the same order everywhere, each as soon as it and those
/// before it are full. A bucket whose parameters are neighbours in memory is reduced in place,
/// others are copied together and apart.
///
/// Steps neither allocate nor free. Don't do so yourself between the steps of workers: cudaFree may
/// wait for the kernels of all devices, and those may wait for this worker.
///
/// One thread uses it. What fails in the communicator makes it unusable, as the communicator is.
class RONDO_API CommunicatorGradientSync final : public GradientSync {
public:
    /// Throws InvalidArgument for a rank that is not there, slices that overlap, or buckets of 0
    /// bytes, or an order that is not one of all parameters.
    CommunicatorGradientSync(const Communicator& communicator, int rank,
                             std::vector<GradientSlice> parameters,
                             const BucketOptions& options = {});
    ~CommunicatorGradientSync() override;
    CommunicatorGradientSync(CommunicatorGradientSync&&) noexcept;

    /// The mean of a whole array, on this rank's device or on the host, without buckets. Different
    /// lengths are an InvalidArgument for all workers, and the next call works.
    void sync_gradients(std::span<float> gradients) override;
    bool is_distributed() const override;
    std::size_t num_workers() const override;

    /// `gradients` is memory of the device; `stream` is where they are computed. `weight` is this
    /// worker's share of all samples, for weighted_mean.
    void begin_step(float* gradients, cudaStream_t stream, double weight = 1);
    /// The gradient is complete behind what is in the stream now. Any order; once per step. Throws
    /// InvalidArgument for a parameter that is not there or was ready already.
    void gradient_ready(std::size_t parameter);
    /// Launches what is left, and lets the stream wait for all of it. Throws InvalidArgument that
    /// names the parameters which never became ready, unless find_unused.
    void finish_step();
    /// Blocks until all reductions of the step have ended on this device.
    void wait();

    /// While off, steps only accumulate: nothing is sent. The first step after it sends the sum.
    void set_synchronizing(bool on);

    /// For uneven inputs: takes part in the others' steps with zeros until all have joined; then
    /// everybody gets the parameters of a worker that had the most steps. Blocks.
    void join(float* parameters, std::size_t count);

    /// With find_unused, of the last step: whether any worker used the parameter.
    bool used(std::size_t parameter) const;
    /// The parameters of each bucket, in the order of their launch.
    const std::vector<std::vector<std::size_t>>& buckets() const;

    /// Records buckets as spans of a worker. Null: no more.
    void observe(Timeline* timeline, std::uint32_t worker, std::uint64_t step);

private:
    class State;
    std::unique_ptr<State> state_;
};

}  // namespace rondo::training
