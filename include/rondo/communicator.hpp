// Collectives across GPUs: the host API.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include "rondo/export.hpp"
#include "rondo/schedule.hpp"
#include "rondo/strategy.hpp"
#include "rondo/types.hpp"
#include "rondo/values.hpp"

namespace rondo {

/// How the work is cut. 0 leaves it to the library.
struct Tuning {
    std::uint32_t lanes = 0;        ///< blocks per device, at most 32
    std::uint32_t depth = 0;        ///< slots of a channel, a power of two
    std::uint64_t slot_bytes = 0;   ///< of a slot; a multiple of 64
    std::uint32_t first_epoch = 0;  ///< where flags start counting; for tests of the wrap
};

struct CommunicatorOptions {
    std::vector<int> devices = {};  ///< rank r is on devices[r]; empty: all devices
    Strategy strategy = {};         ///< for calls that name none
    /// Every wait for another rank ends after that long with a TimeoutError. 0: never.
    std::chrono::nanoseconds timeout = std::chrono::minutes(5);
    Tuning tuning = {};
};

/// What one call may say besides its operands. Spans must live until the call returns.
struct CallOptions {
    /// One per rank (one in all for the call of a rank); empty: the legacy default streams.
    std::span<const cudaStream_t> streams = {};
    std::optional<Strategy> strategy = {};
    /// premul_sum: the factor of each rank (of the rank, for the call of a rank).
    std::span<const double> factors = {};
    /// From Communicator::add_schedule(); 0: a strategy's.
    std::uint32_t schedule = 0;
    /// Calls that return their results put their Work here, when it is not null.
    class Work* work = nullptr;
};

/// Why a call runs as it does.
struct Explanation {
    Strategy strategy = {};   ///< what runs
    double seconds = 0;       ///< predicted by simulation; 0: it was not simulated
    Strategy runner_up = {};  ///< automatic: there is none
    double runner_up_seconds = 0;
    std::string reason = {};  ///< in words
};

namespace detail {

class Core;
struct Pending;

/// A call without its element type. All ranks must agree on it.
struct Call {
    Collective collective = Collective::all_reduce;
    ElementType type = ElementType::f32;
    ReduceOp op = ReduceOp::sum;
    std::uint64_t count = 0;  ///< of the whole message
    std::uint32_t root = 0;
    std::span<const std::uint32_t> destinations = {};
    std::span<const std::uint64_t> counts = {};
    Strategy strategy = {};
    std::uint32_t schedule = 0;
};

/// One tensor of a batch.
struct Segment {
    const void* input = nullptr;
    void* output = nullptr;
    std::uint64_t count = 0;
};

struct RankBuffers {
    const void* input = nullptr;
    void* output = nullptr;
    /// Instead of the two: tensors that are treated as if each lay behind the other.
    std::span<const Segment> segments = {};
    cudaStream_t stream = nullptr;
    double factor = 1;
};

/// A tensor without its element type.
struct View {
    int device = 0;
    void* data = nullptr;
    std::size_t size = 0;
};

/// Empty lists of the calling thread, one for inputs and one for outputs.
RONDO_API std::vector<View>& view_storage(bool output);

}  // namespace detail

/// A call that was enqueued. Move-only. Destroying it does not wait.
class RONDO_API Work {
public:
    Work() = default;
    Work(Work&& other) noexcept;
    Work& operator=(Work&& other) noexcept;
    ~Work();

    /// Blocks until the call has ended on all its ranks. Throws what went wrong: MismatchError,
    /// TimeoutError, AbortedError or CudaError; the communicator is unusable then.
    void wait();
    /// True when the call has ended, well or not. Never blocks.
    bool query() const;
    /// What went wrong so far, or null. Never blocks.
    std::exception_ptr error() const;

private:
    friend class Communicator;
    friend class RankHandle;
    Work(std::shared_ptr<detail::Core> core, detail::Pending* first);
    void release() noexcept;

    std::shared_ptr<detail::Core> core_;
    detail::Pending* first_ = nullptr;
};

/// One rank's view, for programs with one thread per GPU. A call never waits for other ranks on the
/// host. All ranks must make the same calls in the same order; when they don't, every one of them
/// gets the same MismatchError and nothing is written.
class RONDO_API RankHandle {
public:
    int rank() const { return static_cast<int>(rank_); }
    int device() const;

    /// In place when both pointers are equal.
    template <class T>
    Work all_reduce(ReduceOp op, const T* input, T* output, std::size_t count,
                    const CallOptions& options = {}) const {
        return run({.collective = Collective::all_reduce,
                    .type = element_type_of<T>,
                    .op = op,
                    .count = count},
                   input, output, options);
    }
    /// `output` is used at the root only.
    template <class T>
    Work reduce(ReduceOp op, const T* input, T* output, std::size_t count, int root,
                const CallOptions& options = {}) const {
        return run_rooted({.collective = Collective::reduce,
                           .type = element_type_of<T>,
                           .op = op,
                           .count = count},
                          input, output, root, options);
    }
    /// `input` is used at the root only.
    template <class T>
    Work broadcast(const T* input, T* output, std::size_t count, int root,
                   const CallOptions& options = {}) const {
        return run_rooted(
            {.collective = Collective::broadcast, .type = element_type_of<T>, .count = count},
            input, output, root, options);
    }
    /// `count` elements for every rank; `input` has all of them, one rank's behind the other's.
    template <class T>
    Work reduce_scatter(ReduceOp op, const T* input, T* output, std::size_t count,
                        const CallOptions& options = {}) const {
        return run({.collective = Collective::reduce_scatter,
                    .type = element_type_of<T>,
                    .op = op,
                    .count = count_of_all(count)},
                   input, output, options);
    }
    /// The same with a count of its own for every rank.
    template <class T>
    Work reduce_scatter(ReduceOp op, const T* input, T* output,
                        std::span<const std::uint64_t> counts,
                        const CallOptions& options = {}) const {
        return run({.collective = Collective::reduce_scatter,
                    .type = element_type_of<T>,
                    .op = op,
                    .counts = counts},
                   input, output, options);
    }
    /// `count` elements of every rank; `output` has room for all.
    template <class T>
    Work all_gather(const T* input, T* output, std::size_t count,
                    const CallOptions& options = {}) const {
        return run({.collective = Collective::all_gather,
                    .type = element_type_of<T>,
                    .count = count_of_all(count)},
                   input, output, options);
    }
    template <class T>
    Work all_gather(const T* input, T* output, std::span<const std::uint64_t> counts,
                    const CallOptions& options = {}) const {
        return run(
            {.collective = Collective::all_gather, .type = element_type_of<T>, .counts = counts},
            input, output, options);
    }

    /// To one other rank, which must receive as many elements of the same type. Only these two take
    /// part. What is sent from one rank to another arrives in the order of the calls. Two ranks
    /// that both send first and then receive, on one stream each, wait for each other until the
    /// deadline. What fails makes the whole communicator unusable, as with any other call.
    template <class T>
    Work send(const T* input, std::size_t count, int to, const CallOptions& options = {}) const {
        return run_link(element_type_of<T>, input, nullptr, count, rank(), to, options);
    }
    template <class T>
    Work receive(T* output, std::size_t count, int from, const CallOptions& options = {}) const {
        return run_link(element_type_of<T>, nullptr, output, count, from, rank(), options);
    }

private:
    friend class Communicator;
    RankHandle(std::shared_ptr<detail::Core> core, std::uint32_t rank)
        : core_(std::move(core)), rank_(rank) {}

    /// Throws InvalidArgument when that is more than memory can hold.
    std::uint64_t count_of_all(std::uint64_t count) const;
    Work run(detail::Call call, const void* input, void* output, const CallOptions& options) const;
    Work run_rooted(detail::Call call, const void* input, void* output, int root,
                    const CallOptions& options) const;
    Work run_link(ElementType type, const void* input, void* output, std::uint64_t count, int from,
                  int to, const CallOptions& options) const;

    std::shared_ptr<detail::Core> core_;
    std::uint32_t rank_;
};

/// All ranks of a group of GPUs in one process. Copies share it. Calls may come from any thread;
/// calls on one communicator must not race with each other. Calls on different streams are ordered
/// among each other; replays of a graph are ordered by the streams that they are launched on only.
///
/// Buffers are memory of the rank's device, from wherever: what peers can't map (pools and virtual
/// memory that were not opened for them) is copied to a stand-in and back where peers would touch
/// it. A graph keeps what was true at its capture. Memory that is open to all devices must not be
/// closed to some of them only while it is in use.
class RONDO_API Communicator {
public:
    /// Throws InvalidArgument for devices that do not exist or are named twice.
    static Communicator create(const CommunicatorOptions& options = {});

    int size() const;
    int device(int rank) const;
    std::vector<int> devices() const;
    /// Throws InvalidArgument unless 0 <= rank < size().
    RankHandle rank(int rank) const;

    /// Every replica gets the reduction of all, in place.
    template <class T>
    Work all_reduce(ReduceOp op, const PerReplica<T>& values, const CallOptions& options = {}) {
        return run({.collective = Collective::all_reduce, .type = element_type_of<T>, .op = op},
                   views(values), views(values, true), options);
    }
    template <class T>
    Work all_reduce(ReduceOp op, const PerReplica<const T>& inputs, const PerReplica<T>& outputs,
                    const CallOptions& options = {}) {
        return run({.collective = Collective::all_reduce, .type = element_type_of<T>, .op = op},
                   views(inputs), views(outputs, true), options);
    }
    /// Replica r of `outputs` gets part r; the parts are as long as the outputs.
    template <class T>
    Work reduce_scatter(ReduceOp op, const PerReplica<const T>& inputs,
                        const PerReplica<T>& outputs, const CallOptions& options = {}) {
        return run({.collective = Collective::reduce_scatter, .type = element_type_of<T>, .op = op},
                   views(inputs), views(outputs, true), options);
    }
    /// Every output gets all inputs, one behind the other; they may differ in length.
    template <class T>
    Work all_gather(const PerReplica<const T>& inputs, const PerReplica<T>& outputs,
                    const CallOptions& options = {}) {
        return run({.collective = Collective::all_gather, .type = element_type_of<T>},
                   views(inputs), views(outputs, true), options);
    }

    /// One result on every destination. `op` is usually sum or mean. A single value is copied.
    /// Throws InvalidArgument for no values, no destinations, or devices that are not in the
    /// communicator. Asynchronous, as all calls; CallOptions::work tells the end.
    template <class T>
    Mirrored<std::remove_const_t<T>> reduce(ReduceOp op, const PerReplica<T>& value,
                                            const Destinations& destinations,
                                            const CallOptions& options = {}) {
        using Element = std::remove_const_t<T>;
        const PerReplica<const Element> inputs(value);
        const std::size_t count = value.empty() ? 0 : value[0].size();
        std::vector<Tensor<Element>> results = allocate_results<Element>(destinations, count);
        reduce_into({.collective = Collective::reduce, .type = element_type_of<T>, .op = op},
                    views(inputs), views(PerReplica<Element>(results), true), options);
        return Mirrored<Element>(std::move(results));
    }
    /// A tensor on one device; a tensor of a rank is the reduction of itself.
    template <class T>
    Mirrored<std::remove_const_t<T>> reduce(ReduceOp op, const Tensor<T>& value,
                                            const Destinations& destinations,
                                            const CallOptions& options = {}) {
        return reduce(op, PerReplica<T>{value}, destinations, options);
    }

    /// The value on every destination, always in new memory.
    template <class T>
    Mirrored<std::remove_const_t<T>> broadcast(const Tensor<T>& value,
                                               const Destinations& destinations,
                                               const CallOptions& options = {}) {
        using Element = std::remove_const_t<T>;
        std::vector<Tensor<Element>> results =
            allocate_results<Element>(destinations, value.size());
        reduce_into({.collective = Collective::broadcast, .type = element_type_of<T>},
                    views(PerReplica<const Element>{Tensor<const Element>(value)}),
                    views(PerReplica<Element>(results), true), options);
        return Mirrored<Element>(std::move(results));
    }

    template <class T>
    using ReducePair = std::pair<PerReplica<T>, Destinations>;

    /// The results in the order of the pairs. Where every value goes to the devices that it comes
    /// from, all tensors are reduced as one message, without being copied together; otherwise one
    /// after the other. An empty batch has no results.
    template <class T>
    std::vector<Mirrored<T>> batch_reduce(ReduceOp op, const std::vector<ReducePair<T>>& pairs,
                                          const CallOptions& options = {}) {
        std::vector<Mirrored<T>> results;
        if (!is_all_reduce(pairs)) {
            for (const auto& [value, destinations] : pairs) {
                results.push_back(reduce(op, value, destinations, options));
            }
            return results;
        }
        std::vector<detail::Segment> segments(pairs.size() * static_cast<std::size_t>(size()));
        for (std::size_t p = 0; p < pairs.size(); ++p) {
            const PerReplica<T>& value = pairs[p].first;
            std::vector<Tensor<T>> outputs =
                allocate_results<T>(Destinations(value), value[0].size());
            for (std::size_t r = 0; r < value.size(); ++r) {
                check_component(value[r].device(), r, value[r].size(), value[0].size());
                segments[r * pairs.size() + p] = {value[r].data(), outputs[r].data(),
                                                  value[r].size()};
            }
            results.emplace_back(std::move(outputs));
        }
        run_batch({.collective = Collective::all_reduce, .type = element_type_of<T>, .op = op},
                  segments, pairs.size(), options);
        return results;
    }

    /// A schedule of one's own. It is proved before it is taken; what is wrong is said by an
    /// InvalidArgument. Give the number to CallOptions::schedule.
    std::uint32_t add_schedule(const Schedule& schedule);
    /// The schedule that a call of so many elements would run.
    Schedule schedule_for(Collective collective, ElementType type, ReduceOp op, std::uint64_t count,
                          const CallOptions& options = {}) const;

    /// The strategy of a call of so many elements, its predicted time, the runner-up and the
    /// reason. Detects the machine's topology and simulates all candidates: takes milliseconds, on
    /// many GPUs seconds. Throws Unsupported when the topology can't be detected.
    Explanation explain(Collective collective, ElementType type, std::uint64_t count,
                        const CallOptions& options = {}) const;

    /// Ends everything that is pending, from any thread, with an AbortedError.
    void abort();
    /// What made the communicator unusable, or null. Never blocks.
    std::exception_ptr status() const;

private:
    explicit Communicator(std::shared_ptr<detail::Core> core) : core_(std::move(core)) {}

    /// Tensors without their element types, in memory that the thread keeps for its next call.
    template <class T>
    static std::span<const detail::View> views(const PerReplica<T>& values, bool output = false) {
        std::vector<detail::View>& result = detail::view_storage(output);
        for (const Tensor<T>& value : values) {
            result.push_back(
                {value.device(), const_cast<std::remove_const_t<T>*>(value.data()), value.size()});
        }
        return result;
    }
    Work run(detail::Call call, std::span<const detail::View> inputs,
             std::span<const detail::View> outputs, const CallOptions& options);
    /// Every value is on all devices and goes to all devices.
    template <class T>
    bool is_all_reduce(const std::vector<ReducePair<T>>& pairs) const {
        for (const auto& [value, destinations] : pairs) {
            if (value.size() != static_cast<std::size_t>(size()) ||
                !covers_all(destinations.devices())) {
                return false;
            }
        }
        return !pairs.empty();
    }
    bool covers_all(const std::vector<int>& devices) const;
    void check_component(int device, std::size_t rank, std::size_t size,
                         std::size_t expected) const;
    /// Throws InvalidArgument unless there are destinations and all are in the communicator.
    std::vector<int> result_devices(const Destinations& destinations) const;
    template <class T>
    std::vector<Tensor<T>> allocate_results(const Destinations& destinations,
                                            std::size_t count) const {
        std::vector<Tensor<T>> results;
        for (const int device : result_devices(destinations)) {
            results.push_back(Tensor<T>::allocate(device, count));
        }
        return results;
    }
    void reduce_into(detail::Call call, std::span<const detail::View> inputs,
                     std::span<const detail::View> outputs, const CallOptions& options);
    void run_batch(detail::Call call, std::span<const detail::Segment> segments,
                   std::size_t segments_per_rank, const CallOptions& options);
    Work enqueue_all(const detail::Call& call, std::span<const detail::RankBuffers> buffers);

    std::shared_ptr<detail::Core> core_;
};

}  // namespace rondo
