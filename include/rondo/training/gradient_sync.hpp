// Gradients that several workers computed become one mean: the interface, and the two
// implementations that need no GPU.
//
//     rondo::training::ThreadedGradientSync sync(4);             // four threads
//     std::jthread worker([handle = sync.worker(2)]() mutable {  // copies share one state
//         std::vector<float> gradients = ...;
//         handle.sync_gradients(gradients);                      // now the mean of all four
//     });
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "rondo/error.hpp"
#include "rondo/export.hpp"

namespace rondo::training {

/// Averages gradients between workers. One object (or one copy) per worker; every worker calls
/// sync_gradients() once per step.
class RONDO_API GradientSync {
public:
    virtual ~GradientSync();

    /// Replaces the gradients by the mean over all workers. Blocks until the mean is there.
    /// Throws InvalidArgument for every worker of the round when their lengths differ.
    virtual void sync_gradients(std::span<float> gradients) = 0;
    /// Whether there is anybody to synchronise with.
    virtual bool is_distributed() const = 0;
    virtual std::size_t num_workers() const = 0;

protected:
    GradientSync() = default;
    GradientSync(const GradientSync&) = default;
    GradientSync& operator=(const GradientSync&) = default;
};

/// One worker: its gradients are the mean. For code that is written once for one and many workers.
class RONDO_API LocalGradientSync final : public GradientSync {
public:
    void sync_gradients(std::span<float> gradients) override;
    bool is_distributed() const override { return false; }
    std::size_t num_workers() const override { return 1; }
};

struct ThreadedSyncOptions {
    /// How long a worker waits for the others of its round. 0: for ever.
    std::chrono::nanoseconds timeout = std::chrono::minutes(5);
};

/// Threads of one process. Copies share one state; each thread uses a copy of its own.
///
/// A round: everybody brings an array; when the last has come, all of them add up and divide, each
/// a part, in the order of the workers' indices; nobody leaves before the mean is complete, and the
/// last to leave makes the object ready for the next round. Nothing is copied: the mean is formed
/// where the arrays are, so an array must not be touched by others during the call.
///
/// The mean is the same whoever comes first, if the workers have indices (worker()). Copies without
/// an index take the free places as they come; then the last bits may depend on the order.
///
/// What can go wrong:
///   - lengths differ, arrays overlap: InvalidArgument for everybody in the round, and nothing is
///     written. The next round works.
///   - a worker does not come in time: TimeoutError for everybody who waits, naming who came and
///     who did not. Later calls fail at once with the same text, until reset().
///
/// Cost: with n workers on c cores, 2 n / c reads and writes of the array per worker.
class RONDO_API ThreadedGradientSync final : public GradientSync {
public:
    /// Throws InvalidArgument for 0 workers or a negative timeout.
    explicit ThreadedGradientSync(std::size_t num_workers, const ThreadedSyncOptions& options = {});

    /// A copy that is worker `index` in every round. Throws InvalidArgument unless index <
    /// num_workers().
    ThreadedGradientSync worker(std::size_t index) const;

    void sync_gradients(std::span<float> gradients) override;
    bool is_distributed() const override;
    std::size_t num_workers() const override;

    /// Makes the object usable again after a TimeoutError. Who still waits gets a TimeoutError.
    /// Has no effect on a round that all have joined.
    void reset();

private:
    class State;
    std::shared_ptr<State> state_;
    std::optional<std::size_t> index_;
};

}  // namespace rondo::training
