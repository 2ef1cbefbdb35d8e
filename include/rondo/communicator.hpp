// Collectives across the GPUs of one process. Start here.
//
//     rondo::Communicator comm = rondo::Communicator::create();  // all GPUs of this machine
//     rondo::Work work = comm.all_reduce(rondo::ReduceOp::sum, gradients);
//     work.wait();                                // or enqueue what needs the sums on the streams
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

/// The most ranks that a communicator can have.
inline constexpr int max_ranks = 128;
/// The least that CommunicatorOptions::scratch_bytes may be.
inline constexpr std::size_t least_scratch_bytes = std::size_t{1} << 20;

/// What a communicator is made of. The defaults suit most programs.
///
///     Communicator::create({.devices = {0, 1, 2, 3}, .timeout = std::chrono::seconds(30)});
struct CommunicatorOptions {
    /// Rank r runs on devices[r]; at most max_ranks. Empty: all devices of the machine.
    std::vector<int> devices = {};
    /// For calls that don't name a strategy of their own.
    Strategy strategy = {};
    /// How long one rank waits for another. Then all ranks get a TimeoutError that names the rank
    /// which never joined. 0: wait forever.
    std::chrono::nanoseconds timeout = std::chrono::minutes(5);
    /// Leave it alone unless you have measured something better.
    Tuning tuning = {};
    /// Device memory that each rank reserves for data in transit, shared by all its collectives.
    /// Nothing more is allocated later. A multiple of 64, at least least_scratch_bytes. Less than
    /// the default may be slower.
    std::size_t scratch_bytes = std::size_t{32} << 20;
    /// The first communicator of a process copies a little data between every two devices that
    /// claim to reach each other, and avoids links that turn out to be broken. False: it believes
    /// what CUDA says.
    bool self_test = true;
};

/// Options of a single call. All of them are optional.
///
///     comm.all_reduce(ReduceOp::sum, gradients, {.streams = streams});
///     rank.all_reduce(ReduceOp::sum, data, data, count, {.streams = {&stream, 1}});
///
/// Spans are only read during the call.
struct CallOptions {
    /// The streams that the call is enqueued on: one per rank; exactly one for the call of a
    /// RankHandle. Empty: the legacy default stream of each device.
    std::span<const cudaStream_t> streams = {};
    /// Overrides CommunicatorOptions::strategy.
    std::optional<Strategy> strategy = {};
    /// For ReduceOp::premul_sum: one factor per rank; exactly one for the call of a RankHandle.
    std::span<const double> factors = {};
    /// A number from Communicator::add_schedule(). 0: the strategy decides.
    std::uint32_t schedule = 0;
    /// Where calls that return results (reduce(), broadcast(), batch_reduce()) store their Work.
    class Work* work = nullptr;
};

/// How a call would run, and why. From Communicator::explain().
struct Explanation {
    Strategy strategy = {};        ///< the strategy that would run
    std::uint32_t blocks = 0;      ///< thread blocks on the busiest rank
    double seconds = 0;            ///< predicted by simulation; 0: not simulated
    Strategy runner_up = {};       ///< the second best; automatic if there is none
    double runner_up_seconds = 0;  ///< predicted, as above
    std::string reason = {};       ///< the same for people, in a sentence or two
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

/// A call that has been enqueued: what every collective returns.
///
///     Work work = comm.all_reduce(ReduceOp::sum, gradients);
///     ...                         // the host goes on; kernels behind it in the stream see sums
///     work.wait();                // only if the host needs to know that it has ended
///
/// You may drop it: the call still runs, and its error shows in Communicator::status() and in the
/// next call. Move-only.
class RONDO_API Work {
public:
    /// Of no call: wait() returns at once.
    Work() = default;
    Work(Work&& other) noexcept;
    Work& operator=(Work&& other) noexcept;
    ~Work();

    /// Blocks the calling thread until the call has ended on all ranks that it was made for. Throws
    /// what went wrong: MismatchError, TimeoutError, AbortedError or CudaError. After that the
    /// communicator is unusable, and no kernel touches your buffers any more.
    void wait();
    /// True once the call has ended, successfully or not. Never blocks.
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

/// One message of a RankHandle::exchange(). Make it with send_to() or receive_from().
struct Transfer {
    bool is_send = true;                  ///< to the peer, or from it
    int peer = 0;                         ///< a rank
    ElementType type = ElementType::f32;  ///< the same for all transfers of an exchange
    void* data = nullptr;                 ///< memory of this rank's device; a send only reads it
    std::size_t count = 0;                ///< elements
};

/// A message of `count` elements to rank `peer`.
template <class T>
Transfer send_to(int peer, const T* data, std::size_t count) {
    return {true, peer, element_type_of<T>, const_cast<T*>(data), count};
}

/// A message of `count` elements from rank `peer`.
template <class T>
Transfer receive_from(int peer, T* data, std::size_t count) {
    return {false, peer, element_type_of<T>, data, count};
}

/// One rank of a communicator, for programs with one thread per GPU.
///
///     std::jthread worker([rank = comm.rank(i), data, count] {
///         rank.all_reduce(ReduceOp::sum, data, data, count).wait();
///     });
///
/// All ranks must make the same calls in the same order. A call returns as soon as its kernel is
/// enqueued; it never waits for other ranks on the host.
///
/// **What can go wrong.** Bad arguments throw InvalidArgument at once, and nothing has happened.
/// Ranks that call different things all get the same MismatchError from Work::wait(), which says
/// what differs; nothing is written. If a rank does not call at all, the others get a TimeoutError
/// that names it.
///
/// **Threads and streams.** Different ranks may call at the same time; calls of one rank must not
/// race with each other. `streams` takes one stream of the rank's device. Pointers are memory of
/// that device, of any alignment. Copies of a handle are the same rank, and keep the communicator
/// alive.
///
/// **Cost.** One kernel launch. The first call of a kind (collective, type, operator, magnitude of
/// the size) also plans it, which takes milliseconds; later calls neither plan nor allocate.
class RONDO_API RankHandle {
public:
    /// Between 0 and the size of the communicator.
    int rank() const { return static_cast<int>(rank_); }
    /// The CUDA device that it runs on.
    int device() const;

    /// Every rank gets the reduction of all inputs. In place if `output` equals `input`.
    template <class T>
    Work all_reduce(ReduceOp op, const std::type_identity_t<T>* input, T* output, std::size_t count,
                    const CallOptions& options = {}) const {
        return run({.collective = Collective::all_reduce,
                    .type = element_type_of<T>,
                    .op = op,
                    .count = count},
                   input, output, options);
    }
    /// Rank `root` gets the reduction of all inputs. Other ranks may pass nullptr as `output`.
    template <class T>
    Work reduce(ReduceOp op, const T* input, std::type_identity_t<T>* output, std::size_t count,
                int root, const CallOptions& options = {}) const {
        return run_rooted({.collective = Collective::reduce,
                           .type = element_type_of<T>,
                           .op = op,
                           .count = count},
                          input, output, root, options);
    }
    /// Every rank gets the input of `root`. Other ranks may pass nullptr as `input`.
    template <class T>
    Work broadcast(const std::type_identity_t<T>* input, T* output, std::size_t count, int root,
                   const CallOptions& options = {}) const {
        return run_rooted(
            {.collective = Collective::broadcast, .type = element_type_of<T>, .count = count},
            input, output, root, options);
    }
    /// Rank r gets part r of the reduction. `input` has size() * `count` elements, `output` has
    /// `count`. In place if `output` is this rank's part of `input`.
    template <class T>
    Work reduce_scatter(ReduceOp op, const std::type_identity_t<T>* input, T* output,
                        std::size_t count, const CallOptions& options = {}) const {
        return run({.collective = Collective::reduce_scatter,
                    .type = element_type_of<T>,
                    .op = op,
                    .count = count_of_all(count)},
                   input, output, options);
    }
    /// The same with parts of different lengths: counts[r] elements for rank r.
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
    /// Every rank gets the inputs of all ranks, one after the other. `input` has `count` elements,
    /// `output` has size() * `count`. In place if `input` is this rank's part of `output`.
    template <class T>
    Work all_gather(const std::type_identity_t<T>* input, T* output, std::size_t count,
                    const CallOptions& options = {}) const {
        return run({.collective = Collective::all_gather,
                    .type = element_type_of<T>,
                    .count = count_of_all(count)},
                   input, output, options);
    }
    /// The same with inputs of different lengths: counts[r] elements from rank r.
    template <class T>
    Work all_gather(const std::type_identity_t<T>* input, T* output,
                    std::span<const std::uint64_t> counts, const CallOptions& options = {}) const {
        return run(
            {.collective = Collective::all_gather, .type = element_type_of<T>, .counts = counts},
            input, output, options);
    }
    /// Part d of `input` goes to rank d; part s of `output` comes from rank s. Both have size() *
    /// `count` elements and must not overlap.
    template <class T>
    Work all_to_all(const std::type_identity_t<T>* input, T* output, std::size_t count,
                    const CallOptions& options = {}) const {
        return run({.collective = Collective::all_to_all,
                    .type = element_type_of<T>,
                    .count = count_of_all(count)},
                   input, output, options);
    }
    /// The same with parts of different lengths: send_counts[d] elements to rank d,
    /// receive_counts[s] elements from rank s. What one rank sends must be what the other receives,
    /// or all ranks get a MismatchError.
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
    /// Rank `root` gets the inputs of all ranks, one after the other. Its `output` has size() *
    /// `count` elements; other ranks may pass nullptr.
    template <class T>
    Work gather(const T* input, std::type_identity_t<T>* output, std::size_t count, int root,
                const CallOptions& options = {}) const {
        return run_rooted({.collective = Collective::gather,
                           .type = element_type_of<T>,
                           .count = count_of_all(count)},
                          input, output, root, options);
    }
    /// The same with inputs of different lengths: counts[r] elements from rank r.
    template <class T>
    Work gather(const T* input, std::type_identity_t<T>* output,
                std::span<const std::uint64_t> counts, int root,
                const CallOptions& options = {}) const {
        return run_rooted(
            {.collective = Collective::gather, .type = element_type_of<T>, .counts = counts}, input,
            output, root, options);
    }
    /// Rank r gets part r of the input of `root`, which has size() * `count` elements. Other ranks
    /// may pass nullptr as `input`.
    template <class T>
    Work scatter(const std::type_identity_t<T>* input, T* output, std::size_t count, int root,
                 const CallOptions& options = {}) const {
        return run_rooted({.collective = Collective::scatter,
                           .type = element_type_of<T>,
                           .count = count_of_all(count)},
                          input, output, root, options);
    }
    /// The same with parts of different lengths: counts[r] elements for rank r.
    template <class T>
    Work scatter(const std::type_identity_t<T>* input, T* output,
                 std::span<const std::uint64_t> counts, int root,
                 const CallOptions& options = {}) const {
        return run_rooted(
            {.collective = Collective::scatter, .type = element_type_of<T>, .counts = counts},
            input, output, root, options);
    }
    /// Work that is enqueued later on this rank's stream starts after all ranks have reached the
    /// barrier on theirs. The host does not wait.
    Work barrier(const CallOptions& options = {}) const {
        return run({.collective = Collective::all_reduce, .type = ElementType::u8}, nullptr,
                   nullptr, options);
    }

    /// Sends to one other rank, which must receive as many elements of the same type. Only these
    /// two take part. Messages from one rank to another arrive in the order of the calls.
    ///
    /// Two ranks that both send first and then receive, each on one stream, wait for each other
    /// until the timeout; use exchange() for that. As with any call, an error makes the whole
    /// communicator unusable.
    template <class T>
    Work send(const T* input, std::size_t count, int to, const CallOptions& options = {}) const {
        const Transfer transfer = send_to(to, input, count);
        return exchange({&transfer, 1}, options);
    }
    /// The other end of send().
    template <class T>
    Work receive(T* output, std::size_t count, int from, const CallOptions& options = {}) const {
        const Transfer transfer = receive_from(from, output, count);
        return exchange({&transfer, 1}, options);
    }
    /// Sends and receives that don't wait for each other, in one launch: a swap, a shift around a
    /// ring, an all-to-all by hand. Peers may use send(), receive() or exchanges of their own. All
    /// transfers of one exchange have the same element type.
    ///
    ///     const Transfer shift[] = {send_to(next, out, n), receive_from(previous, in, n)};
    ///     rank.exchange(shift);
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

/// A group of GPUs in one process, and the collectives across them. Rank r is the r-th device.
///
///     Communicator comm = Communicator::create();
///     comm.all_reduce(ReduceOp::mean, gradients).wait();
///
/// **What a call does.** It checks its arguments, enqueues one kernel per rank on the ranks'
/// streams and returns. A kernel starts when the work before it in its stream has ended; work
/// behind it sees the result. No call waits for a GPU. The result does not depend on timing: the
/// same call gives the same bits every time. Strategies differ in the order of additions, so sums
/// of floats may differ in their last bits between strategies.
///
/// **What can go wrong.** InvalidArgument and Unsupported are thrown by the call itself; nothing
/// has happened, and the communicator is fine. Everything else (TimeoutError, MismatchError,
/// AbortedError, CudaError) comes from Work::wait(), names the rank that caused it, and makes the
/// communicator unusable: destroy it and create another. See recoverable().
///
/// **Threads.** Any thread may call, but calls on one communicator must not race with each other
/// (use rank() for a thread per GPU). abort() and status() may be called at any time.
///
/// **Streams and graphs.** Calls on one communicator run in the order in which they were made, also
/// on different streams. Calls can be captured into CUDA graphs; replays are ordered only by the
/// streams that they are launched on. A graph keeps the buffers of its capture, and how peers reach
/// them.
///
/// **Buffers** are memory of the rank's device, from cudaMalloc, pools or virtual memory. What
/// peers can't map (a pool that was not opened with cudaMemPoolSetAccess) is copied to memory that
/// they can, and back, where peers would touch it. Don't close memory to some devices while a call
/// uses it.
///
/// **Cost.** create() reserves memory and tests links; make few communicators and keep them. The
/// first call of a kind (collective, type, operator, magnitude of the size) plans by simulation,
/// which takes milliseconds, or seconds on many GPUs. Later calls cost one kernel launch per rank;
/// they neither plan nor allocate, except for those that return results.
///
/// Copies share one communicator. When the last one goes, calls that not all ranks have joined are
/// aborted, and the destructor waits for the rest.
class RONDO_API Communicator {
public:
    /// Throws InvalidArgument for devices that don't exist or appear twice, and for options out of
    /// range; CudaError if a device can't be used or has too little memory.
    static Communicator create(const CommunicatorOptions& options = {});

    /// The number of ranks.
    int size() const;
    /// The CUDA device of a rank. Throws InvalidArgument unless 0 <= rank < size().
    int device(int rank) const;
    /// The CUDA devices of all ranks, in order.
    std::vector<int> devices() const;
    /// For a thread that serves one GPU. Throws InvalidArgument unless 0 <= rank < size().
    RankHandle rank(int rank) const;

    /// Every replica becomes the reduction of all replicas, in place.
    ///
    ///     comm.all_reduce(ReduceOp::sum, PerReplica<float>(tensors));
    ///
    /// Throws InvalidArgument unless there is one tensor per rank, on its device, all of the same
    /// length.
    template <class T>
    Work all_reduce(ReduceOp op, const PerReplica<T>& values, const CallOptions& options = {}) {
        return run({.collective = Collective::all_reduce, .type = element_type_of<T>, .op = op},
                   views(values), views(values, true), options);
    }
    /// The same, out of place: `inputs` are not changed.
    template <class In, class T>
    requires std::is_same_v<std::remove_const_t<In>, T> Work
    all_reduce(ReduceOp op, const PerReplica<In>& inputs, const PerReplica<T>& outputs,
               const CallOptions& options = {}) {
        return run({.collective = Collective::all_reduce, .type = element_type_of<T>, .op = op},
                   views(inputs), views(outputs, true), options);
    }
    /// outputs[r] gets part r of the reduction of all inputs. The parts are as long as the outputs,
    /// which may differ; an input is as long as all outputs together.
    template <class In, class T>
    requires std::is_same_v<std::remove_const_t<In>, T> Work
    reduce_scatter(ReduceOp op, const PerReplica<In>& inputs, const PerReplica<T>& outputs,
                   const CallOptions& options = {}) {
        return run({.collective = Collective::reduce_scatter, .type = element_type_of<T>, .op = op},
                   views(inputs), views(outputs, true), options);
    }
    /// Every output gets all inputs, one after the other. Inputs may differ in length; an output is
    /// as long as all inputs together.
    template <class In, class T>
    requires std::is_same_v<std::remove_const_t<In>, T> Work
    all_gather(const PerReplica<In>& inputs, const PerReplica<T>& outputs,
               const CallOptions& options = {}) {
        return run({.collective = Collective::all_gather, .type = element_type_of<T>},
                   views(inputs), views(outputs, true), options);
    }

    /// Part d of every input goes to outputs[d]; part s of every output comes from inputs[s]. All
    /// parts have the same length. Not in place.
    template <class In, class T>
    requires std::is_same_v<std::remove_const_t<In>, T> Work
    all_to_all(const PerReplica<In>& inputs, const PerReplica<T>& outputs,
               const CallOptions& options = {}) {
        return run({.collective = Collective::all_to_all, .type = element_type_of<T>},
                   views(inputs), views(outputs, true), options);
    }
    /// The same with parts of different lengths: counts[from * size() + to] elements.
    template <class In, class T>
    requires std::is_same_v<std::remove_const_t<In>, T> Work
    all_to_all(const PerReplica<In>& inputs, const PerReplica<T>& outputs,
               std::span<const std::uint64_t> counts, const CallOptions& options = {}) {
        return run_all_to_all({.collective = Collective::all_to_all, .type = element_type_of<T>},
                              views(inputs), views(outputs, true), counts, options);
    }
    /// `output`, on one of the devices, gets all inputs, one after the other. Inputs may differ in
    /// length.
    template <class In, class T>
    requires std::is_same_v<std::remove_const_t<In>, T> Work
    gather(const PerReplica<In>& inputs, const Tensor<T>& output, const CallOptions& options = {}) {
        return run_rooted({.collective = Collective::gather, .type = element_type_of<T>},
                          views(inputs), views(PerReplica<T>{output}, true), options);
    }
    /// outputs[r] gets part r of `input`, which is on one of the devices. The parts are as long as
    /// the outputs, which may differ.
    template <class In, class T>
    requires std::is_same_v<std::remove_const_t<In>, T> Work scatter(
        const Tensor<In>& input, const PerReplica<T>& outputs, const CallOptions& options = {}) {
        return run_rooted({.collective = Collective::scatter, .type = element_type_of<T>},
                          views(PerReplica<In>{input}), views(outputs, true), options);
    }
    /// Work that is enqueued later on any rank's stream starts after all streams have reached the
    /// barrier. The host does not wait.
    Work barrier(const CallOptions& options = {});

    /// The reduction of all replicas, in new memory on every destination.
    ///
    ///     Mirrored<float> sum = comm.reduce(ReduceOp::sum, gradients, {0, 1});
    ///     sum.on_device(1).data();
    ///
    /// `op` is usually sum or mean. A single replica is copied. Asynchronous as all calls:
    /// CallOptions::work tells when it has ended. Allocates the results with cudaMalloc and frees
    /// them with their last owner. Throws InvalidArgument for no values, no destinations, or
    /// devices that are not in the communicator.
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
    /// The reduction of one tensor is the tensor: it is copied to every destination.
    template <class T>
    Mirrored<std::remove_const_t<T>> reduce(ReduceOp op, const Tensor<T>& value,
                                            const Destinations& destinations,
                                            const CallOptions& options = {}) {
        return reduce(op, PerReplica<T>{value}, destinations, options);
    }

    /// The value in new memory on every destination.
    ///
    ///     Mirrored<float> weights = comm.broadcast(initial, Destinations(comm.devices()));
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

    /// What batch_reduce() reduces, and where the result goes.
    template <class T>
    using ReducePair = std::pair<PerReplica<T>, Destinations>;

    /// Many reductions in one call, such as the gradients of all layers of a model.
    ///
    ///     comm.batch_reduce(ReduceOp::mean, {{weights, weights}, {biases, biases}});
    ///
    /// Results come in the order of the pairs. If every value is on all devices and goes to all of
    /// them, the whole batch is one message and one launch per rank, without copies; otherwise it
    /// runs pair by pair. An empty batch has no results. As with reduce() and broadcast(), results
    /// of a captured call must live as long as the graph, which writes them at every replay.
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

    /// Adds a custom schedule and returns its number for CallOptions::schedule.
    ///
    ///     const std::uint32_t mine = comm.add_schedule(schedule_from_json(text));
    ///     comm.all_reduce(ReduceOp::sum, gradients, {.schedule = mine});
    ///
    /// The schedule is proved first. Throws InvalidArgument that says what is wrong with it.
    std::uint32_t add_schedule(const Schedule& schedule);
    /// The schedule that a call of `count` elements would run. Its root is rank 0.
    Schedule schedule_for(Collective collective, ElementType type, ReduceOp op, std::uint64_t count,
                          const CallOptions& options = {}) const;

    /// Which strategy a call of `count` elements (root: rank 0) would take, its predicted time, the
    /// runner-up, and the reason. Runs nothing on a GPU; simulates all candidates, which takes
    /// milliseconds, or seconds on many GPUs. Throws Unsupported if the topology can't be detected.
    ///
    ///     std::puts(comm.explain(Collective::all_reduce, ElementType::f32, n).reason.c_str());
    Explanation explain(Collective collective, ElementType type, std::uint64_t count,
                        const CallOptions& options = {}) const;

    /// Ends all pending calls with an AbortedError. May be called from any thread at any time. The
    /// communicator is unusable afterwards.
    void abort();
    /// What made the communicator unusable, or null. Never blocks; any thread, at any time.
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
