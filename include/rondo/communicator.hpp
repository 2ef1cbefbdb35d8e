// Collectives across GPUs: the host API.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include "rondo/export.hpp"
#include "rondo/schedule.hpp"
#include "rondo/strategy.hpp"
#include "rondo/tuning.hpp"
#include "rondo/types.hpp"
#include "rondo/values.hpp"

namespace rondo {

/// Ranks that a communicator has at most.
inline constexpr int max_ranks = 128;
/// The least that CommunicatorOptions::scratch_bytes may be.
inline constexpr std::size_t least_scratch_bytes = std::size_t{1} << 20;

struct CommunicatorOptions {
    std::vector<int> devices = {};  ///< rank r is on devices[r], 128 at most; empty: all devices
    Strategy strategy = {};         ///< for calls that name none
    /// Every wait for another rank ends after that long with a TimeoutError. 0: never.
    std::chrono::nanoseconds timeout = std::chrono::minutes(5);
    Tuning tuning = {};
    /// Device memory that each rank reserves for data on its way, in all its collectives together;
    /// nothing is allocated later. A multiple of 64. Less than the default may cost speed.
    std::size_t scratch_bytes = std::size_t{32} << 20;
    /// The first communicator of a process tries out every two devices that should reach each
    /// other, and does without links that are broken. False: it believes what CUDA says.
    bool self_test = true;
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
    Strategy strategy = {};    ///< what runs
    std::uint32_t blocks = 0;  ///< thread blocks of the rank that has most
    double seconds = 0;        ///< predicted by simulation; 0: it was not simulated
    Strategy runner_up = {};   ///< automatic: there is none
    double runner_up_seconds = 0;
    std::string reason = {};  ///< in words
};

namespace detail {

class CommunicatorState;
struct CallRecord;

/// A call without its element type. All ranks must agree on it.
struct Call {
    Collective collective = Collective::all_reduce;
    ElementType type = ElementType::f32;
    ReduceOp op = ReduceOp::sum;
    std::uint64_t count = 0;  ///< of the whole message
    std::uint32_t root = 0;
    std::span<const std::uint32_t> destinations = {};
    /// Elements of each part where they differ: of each rank; all_to_all: what the rank sends.
    std::span<const std::uint64_t> counts = {};
    std::span<const std::uint64_t> receive_counts = {};  ///< all_to_all: what the rank receives
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
    /// all_to_all of different lengths, called for all ranks.
    std::span<const std::uint64_t> send_counts = {};
    std::span<const std::uint64_t> receive_counts = {};
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
    Work(std::shared_ptr<detail::CommunicatorState> state, detail::CallRecord* first);
    void release() noexcept;

    std::shared_ptr<detail::CommunicatorState> state_;
    detail::CallRecord* first_ = nullptr;
};

/// A part of an exchange(): one message to or from another rank.
struct Transfer {
    bool is_send = true;
    int peer = 0;
    ElementType type = ElementType::f32;
    void* data = nullptr;  ///< a send only reads it
    std::size_t count = 0;
};

template <class T>
Transfer send_to(int peer, const T* data, std::size_t count) {
    return {true, peer, element_type_of<T>, const_cast<T*>(data), count};
}

template <class T>
Transfer receive_from(int peer, T* data, std::size_t count) {
    return {false, peer, element_type_of<T>, data, count};
}

/// One rank's view, for programs with one thread per GPU. A call never waits for other ranks on the
/// host. All ranks must make the same calls in the same order; when they don't, every one of them
/// gets the same MismatchError and nothing is written.
class RONDO_API RankHandle {
public:
    int rank() const { return static_cast<int>(rank_); }
    int device() const;

    /// In place when both pointers are equal.
    template <class T>
    Work all_reduce(ReduceOp op, const std::type_identity_t<T>* input, T* output, std::size_t count,
                    const CallOptions& options = {}) const {
        return run({.collective = Collective::all_reduce,
                    .type = element_type_of<T>,
                    .op = op,
                    .count = count},
                   input, output, options);
    }
    /// `output` is used at the root only; others may give nullptr.
    template <class T>
    Work reduce(ReduceOp op, const T* input, std::type_identity_t<T>* output, std::size_t count,
                int root, const CallOptions& options = {}) const {
        return run_rooted({.collective = Collective::reduce,
                           .type = element_type_of<T>,
                           .op = op,
                           .count = count},
                          input, output, root, options);
    }
    /// `input` is used at the root only; others may give nullptr.
    template <class T>
    Work broadcast(const std::type_identity_t<T>* input, T* output, std::size_t count, int root,
                   const CallOptions& options = {}) const {
        return run_rooted(
            {.collective = Collective::broadcast, .type = element_type_of<T>, .count = count},
            input, output, root, options);
    }
    /// `count` elements for every rank; `input` has all of them, one rank's behind the other's.
    template <class T>
    Work reduce_scatter(ReduceOp op, const std::type_identity_t<T>* input, T* output,
                        std::size_t count, const CallOptions& options = {}) const {
        return run({.collective = Collective::reduce_scatter,
                    .type = element_type_of<T>,
                    .op = op,
                    .count = count_of_all(count)},
                   input, output, options);
    }
    /// The same with a count of its own for every rank.
    template <class T>
    Work reduce_scatter(ReduceOp op, const std::type_identity_t<T>* input, T* output,
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
    Work all_gather(const std::type_identity_t<T>* input, T* output, std::size_t count,
                    const CallOptions& options = {}) const {
        return run({.collective = Collective::all_gather,
                    .type = element_type_of<T>,
                    .count = count_of_all(count)},
                   input, output, options);
    }
    template <class T>
    Work all_gather(const std::type_identity_t<T>* input, T* output,
                    std::span<const std::uint64_t> counts, const CallOptions& options = {}) const {
        return run(
            {.collective = Collective::all_gather, .type = element_type_of<T>, .counts = counts},
            input, output, options);
    }
    /// `count` elements for every rank and from every rank, in the order of the ranks. Not in
    /// place.
    template <class T>
    Work all_to_all(const std::type_identity_t<T>* input, T* output, std::size_t count,
                    const CallOptions& options = {}) const {
        return run({.collective = Collective::all_to_all,
                    .type = element_type_of<T>,
                    .count = count_of_all(count)},
                   input, output, options);
    }
    /// The same with a count of its own for every rank. What this rank sends another must be what
    /// the other receives from it.
    template <class T>
    Work all_to_all(const std::type_identity_t<T>* input, T* output,
                    std::span<const std::uint64_t> send_counts,
                    std::span<const std::uint64_t> receive_counts,
                    const CallOptions& options = {}) const {
        return run({.collective = Collective::all_to_all,
                    .type = element_type_of<T>,
                    .counts = send_counts,
                    .receive_counts = receive_counts},
                   input, output, options);
    }
    /// `count` elements of every rank; `output`, which has room for all, is used at the root only.
    template <class T>
    Work gather(const T* input, std::type_identity_t<T>* output, std::size_t count, int root,
                const CallOptions& options = {}) const {
        return run_rooted({.collective = Collective::gather,
                           .type = element_type_of<T>,
                           .count = count_of_all(count)},
                          input, output, root, options);
    }
    template <class T>
    Work gather(const T* input, std::type_identity_t<T>* output,
                std::span<const std::uint64_t> counts, int root,
                const CallOptions& options = {}) const {
        return run_rooted(
            {.collective = Collective::gather, .type = element_type_of<T>, .counts = counts}, input,
            output, root, options);
    }
    /// `count` elements for every rank; `input`, which has all of them, is used at the root only.
    template <class T>
    Work scatter(const std::type_identity_t<T>* input, T* output, std::size_t count, int root,
                 const CallOptions& options = {}) const {
        return run_rooted({.collective = Collective::scatter,
                           .type = element_type_of<T>,
                           .count = count_of_all(count)},
                          input, output, root, options);
    }
    template <class T>
    Work scatter(const std::type_identity_t<T>* input, T* output,
                 std::span<const std::uint64_t> counts, int root,
                 const CallOptions& options = {}) const {
        return run_rooted(
            {.collective = Collective::scatter, .type = element_type_of<T>, .counts = counts},
            input, output, root, options);
    }
    /// What is behind it in this rank's stream begins when all ranks have come here.
    Work barrier(const CallOptions& options = {}) const {
        return run({.collective = Collective::all_reduce, .type = ElementType::u8}, nullptr,
                   nullptr, options);
    }

    /// To one other rank, which must receive as many elements of the same type. Only these two take
    /// part. What is sent from one rank to another arrives in the order of the calls. Two ranks
    /// that both send first and then receive, on one stream each, wait for each other until the
    /// deadline: exchange() is for them. What fails makes the whole communicator unusable, as with
    /// any other call.
    template <class T>
    Work send(const T* input, std::size_t count, int to, const CallOptions& options = {}) const {
        const Transfer transfer = send_to(to, input, count);
        return exchange({&transfer, 1}, options);
    }
    template <class T>
    Work receive(T* output, std::size_t count, int from, const CallOptions& options = {}) const {
        const Transfer transfer = receive_from(from, output, count);
        return exchange({&transfer, 1}, options);
    }
    /// Sends and receives that go on side by side: a swap, a shift around a ring, an all-to-all by
    /// hand. Peers may make theirs one by one or in exchanges of their own. All transfers of one
    /// exchange have one element type.
    ///
    ///     rank.exchange({{send_to(next, out, n), receive_from(previous, in, n)}});
    Work exchange(std::span<const Transfer> transfers, const CallOptions& options = {}) const;

private:
    friend class Communicator;
    RankHandle(std::shared_ptr<detail::CommunicatorState> state, std::uint32_t rank)
        : state_(std::move(state)), rank_(rank) {}

    /// Throws InvalidArgument when that is more than memory can hold.
    std::uint64_t count_of_all(std::uint64_t count) const;
    Work run(detail::Call call, const void* input, void* output, const CallOptions& options) const;
    Work run_rooted(detail::Call call, const void* input, void* output, int root,
                    const CallOptions& options) const;

    std::shared_ptr<detail::CommunicatorState> state_;
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
    template <class In, class T>
    requires std::is_same_v<std::remove_const_t<In>, T> Work
    all_reduce(ReduceOp op, const PerReplica<In>& inputs, const PerReplica<T>& outputs,
               const CallOptions& options = {}) {
        return run({.collective = Collective::all_reduce, .type = element_type_of<T>, .op = op},
                   views(inputs), views(outputs, true), options);
    }
    /// Replica r of `outputs` gets part r; the parts are as long as the outputs.
    template <class In, class T>
    requires std::is_same_v<std::remove_const_t<In>, T> Work
    reduce_scatter(ReduceOp op, const PerReplica<In>& inputs, const PerReplica<T>& outputs,
                   const CallOptions& options = {}) {
        return run({.collective = Collective::reduce_scatter, .type = element_type_of<T>, .op = op},
                   views(inputs), views(outputs, true), options);
    }
    /// Every output gets all inputs, one behind the other; they may differ in length.
    template <class In, class T>
    requires std::is_same_v<std::remove_const_t<In>, T> Work
    all_gather(const PerReplica<In>& inputs, const PerReplica<T>& outputs,
               const CallOptions& options = {}) {
        return run({.collective = Collective::all_gather, .type = element_type_of<T>},
                   views(inputs), views(outputs, true), options);
    }

    /// Part d of every input goes to output d, part s of every output comes from input s; all parts
    /// have one length. Not in place.
    template <class In, class T>
    requires std::is_same_v<std::remove_const_t<In>, T> Work
    all_to_all(const PerReplica<In>& inputs, const PerReplica<T>& outputs,
               const CallOptions& options = {}) {
        return run({.collective = Collective::all_to_all, .type = element_type_of<T>},
                   views(inputs), views(outputs, true), options);
    }
    /// The same with counts[from * size() + to] elements from one rank to another.
    template <class In, class T>
    requires std::is_same_v<std::remove_const_t<In>, T> Work
    all_to_all(const PerReplica<In>& inputs, const PerReplica<T>& outputs,
               std::span<const std::uint64_t> counts, const CallOptions& options = {}) {
        return run_all_to_all({.collective = Collective::all_to_all, .type = element_type_of<T>},
                              views(inputs), views(outputs, true), counts, options);
    }
    /// `output`, on one of the devices, gets all inputs, one behind the other; they may differ in
    /// length.
    template <class In, class T>
    requires std::is_same_v<std::remove_const_t<In>, T> Work
    gather(const PerReplica<In>& inputs, const Tensor<T>& output, const CallOptions& options = {}) {
        return run_rooted({.collective = Collective::gather, .type = element_type_of<T>},
                          views(inputs), views(PerReplica<T>{output}, true), options);
    }
    /// Replica r of `outputs` gets part r of `input`; the parts are as long as the outputs.
    template <class In, class T>
    requires std::is_same_v<std::remove_const_t<In>, T> Work scatter(
        const Tensor<In>& input, const PerReplica<T>& outputs, const CallOptions& options = {}) {
        return run_rooted({.collective = Collective::scatter, .type = element_type_of<T>},
                          views(PerReplica<In>{input}), views(outputs, true), options);
    }
    /// What is behind it in the ranks' streams begins when all of them have come here.
    Work barrier(const CallOptions& options = {});

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
    /// after the other. An empty batch has no results. As with reduce() and broadcast(), results of
    /// a call that was captured must live as long as the graph, which writes them at every replay.
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
    /// The schedule that a call of so many elements would run; its root is rank 0.
    Schedule schedule_for(Collective collective, ElementType type, ReduceOp op, std::uint64_t count,
                          const CallOptions& options = {}) const;

    /// The strategy of a call of so many elements (root: rank 0), its predicted time, the runner-up
    /// and the reason. Detects the machine's topology and simulates all candidates: takes
    /// milliseconds, on many GPUs seconds. Throws Unsupported when the topology can't be detected.
    Explanation explain(Collective collective, ElementType type, std::uint64_t count,
                        const CallOptions& options = {}) const;

    /// Ends everything that is pending, from any thread, with an AbortedError.
    void abort();
    /// What made the communicator unusable, or null. Never blocks.
    std::exception_ptr status() const;

private:
    explicit Communicator(std::shared_ptr<detail::CommunicatorState> state)
        : state_(std::move(state)) {}

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
    Work run_rooted(detail::Call call, std::span<const detail::View> inputs,
                    std::span<const detail::View> outputs, const CallOptions& options);
    Work run_all_to_all(detail::Call call, std::span<const detail::View> inputs,
                        std::span<const detail::View> outputs,
                        std::span<const std::uint64_t> counts, const CallOptions& options);
    /// Throws InvalidArgument when this is moved from.
    detail::CommunicatorState& state() const;
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

    std::shared_ptr<detail::CommunicatorState> state_;
};

}  // namespace rondo
