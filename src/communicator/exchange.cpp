// Sends and receives. Every ordered pair of ranks has mailboxes and a plan of its own, so only the
// two take part. The transfers of one exchange run side by side in one launch, so that nobody waits
// behind one whose partner waits for him; those of one pair come one after the other.
#include <algorithm>

#include <fmt/format.h>

#include "communicator/check_call.hpp"
#include "communicator/graph_retention.hpp"
#include "cuda/check.hpp"
#include "cuda/device_guard.hpp"
#include "cuda/graph.hpp"
#include "kernels/launch.hpp"

namespace rondo {
namespace detail {
namespace {

/// Both ends must choose alike, so it depends on the length only.
std::uint32_t replicas_for(std::uint64_t bytes) {
    if (bytes <= 64 << 10) return 1;
    return bytes <= 1 << 20 ? 2 : 8;
}

/// One transfer, at one of its ends.
struct TransferEnd {
    RankPair pair;
    bool is_send = true;
    std::uint32_t wave = 0;  ///< so many of the same pair come before
    void* data = nullptr;
    std::byte* staged = nullptr;  ///< where the sender can't map the receiver's buffer
    std::uint64_t count = 0;
    PlanUse plan = {};
    kernels::CallArguments arguments = {};
    std::uint32_t number = 0;  ///< in the rank's log

    std::uint32_t rank_in_plan() const { return is_send ? 0 : 1; }
};

class Exchange {
public:
    Exchange(CommunicatorState& state, std::uint32_t rank, cudaStream_t stream)
        : state_(state),
          queue_(state.rank(rank)),
          rank_(rank),
          stream_(state.machine().device(rank), stream) {}

    /// Checks everything. Nothing has happened when it throws.
    void add(const Transfer& transfer) {
        if (transfer.peer < 0 || static_cast<std::uint32_t>(transfer.peer) >= state_.ranks()) {
            throw InvalidArgument(fmt::format("the {} rank is {}; there are {} ranks",
                                              transfer.is_send ? "receiving" : "sending",
                                              transfer.peer, state_.ranks()));
        }
        const auto peer = static_cast<std::uint32_t>(transfer.peer);
        if (peer == rank_) {
            throw InvalidArgument(fmt::format("rank {} can not send to itself", rank_));
        }
        if (!ends_.empty() && transfer.type != type_) {
            throw InvalidArgument(fmt::format("an exchange has one element type, not {} and {}",
                                              to_string(type_), to_string(transfer.type)));
        }
        type_ = transfer.type;
        const std::size_t element = size_of(type_);
        if (transfer.count > (std::uint64_t{1} << 62) / element) {
            throw InvalidArgument(
                fmt::format("{} elements are more than memory can hold", transfer.count));
        }
        check_memory({transfer.is_send ? "input" : "output", transfer.data,
                      transfer.count * element, element},
                     rank_, stream_.device());
        TransferEnd end;
        end.pair = transfer.is_send ? RankPair{rank_, peer} : RankPair{peer, rank_};
        end.is_send = transfer.is_send;
        end.data = transfer.data;
        end.count = transfer.count;
        end.wave = static_cast<std::uint32_t>(std::ranges::count_if(
            ends_, [&](const TransferEnd& other) { return other.pair == end.pair; }));
        ends_.push_back(std::move(end));
    }

    CallRecord* run() {
        const DeviceGuard guard(stream_.device());
        // Before the lock: to make room for a plan, the queues of all ranks are asked.
        for (TransferEnd& end : ends_) {
            end.plan = state_.plans().find_transfer(end.pair.from, end.pair.to,
                                                    replicas_for(end.count * size_of(type_)));
        }
        const std::lock_guard lock(queue_.mutex);
        // One order for all ranks, wave by wave.
        std::ranges::sort(ends_, {}, [](const TransferEnd& end) {
            return std::tuple(end.wave, end.pair.from, end.pair.to);
        });
        prepare();
        try {
            return launch();
        } catch (...) {
            state_.fail(std::current_exception());
            if (!capturing_) cudaStreamSynchronize(stream_.get());
            std::rethrow_exception(state_.failure());
        }
    }

    /// What was prepared and not launched goes back.
    ~Exchange() {
        if (record_ == nullptr) return;
        record_->pinned.clear();
        record_->leave_work();
        const std::lock_guard lock(queue_.mutex);
        queue_.pool.put_back(record_);
    }

private:
    void prepare() {
        capturing_ = stream_.capturing();
        record_ = queue_.pool.take();
        record_->pinned.clear();
        for (TransferEnd& end : ends_) {
            upload(end);
            stage(end);
            fill_arguments(end);
        }
        for (std::size_t first = 0; first < ends_.size(); first = wave_end(first)) {
            const std::size_t size = wave_end(first) - first;
            Wave& wave = waves_.emplace_back();
            wave.first = first;
            wave.size = size;
            for (std::size_t i = first; i < first + size; ++i) {
                wave.blocks_per_call =
                    std::max(wave.blocks_per_call, ends_[i].plan->blocks(ends_[i].rank_in_plan()));
            }
            if (size == 1) continue;
            wave.place =
                state_.take_pinned(rank_, *record_, size * sizeof(kernels::CallArguments), false);
            auto* const calls = reinterpret_cast<kernels::CallArguments*>(wave.place.host);
            for (std::size_t i = 0; i < size; ++i) calls[i] = ends_[first + i].arguments;
        }
    }

    std::size_t wave_end(std::size_t first) const {
        const auto end = std::ranges::find_if(
            ends_.begin() + static_cast<std::ptrdiff_t>(first), ends_.end(),
            [&](const TransferEnd& other) { return other.wave != ends_[first].wave; });
        return static_cast<std::size_t>(end - ends_.begin());
    }

    /// In a stream of its own where the caller's is being captured.
    void upload(TransferEnd& end) {
        const std::size_t bytes = end.plan->upload_bytes(end.rank_in_plan());
        const bool is_listed = std::ranges::any_of(
            uploads_, [&](const auto& upload) { return &*upload.first->plan == &*end.plan; });
        if (bytes == 0 || is_listed) return;
        std::byte* const pinned = state_.take_pinned(rank_, *record_, bytes, false).host;
        if (!capturing_) {
            uploads_.emplace_back(&end, pinned);
            return;
        }
        const RelaxedCaptureMode relaxed;
        const Stream own(stream_.device());
        end.plan->upload(end.rank_in_plan(), own, pinned);
        own.synchronize();
    }

    void stage(TransferEnd& end) {
        if (end.is_send || end.count == 0 || !end.plan->peers_touch_output(1)) return;
        queue_.view.begin_call();
        const bool unmapped = queue_.view.is_unmapped_for_peers(end.data);
        set_current_device(stream_.device());
        if (!unmapped) return;
        const std::size_t bytes = end.count * size_of(type_);
        if (capturing_) {
            const RelaxedCaptureMode relaxed;
            end.staged = for_graph_.emplace_back(stream_.device(), bytes).data();
        } else {
            end.staged = static_cast<std::byte*>(queue_.staging.allocate(bytes, stream_));
        }
    }

    void fill_arguments(TransferEnd& end) {
        const Call call{.collective = Collective::broadcast, .type = type_, .count = end.count};
        const ChunkCut cut = end.plan->cut(end.count, size_of(type_));
        end.number =
            queue_.log.keep(call, 0, end.is_send ? CallLog::Kind::send : CallLog::Kind::receive);
        kernels::CallArguments& arguments = end.arguments;
        arguments = state_.connections().arguments(end.pair, end.is_send);
        arguments.program = end.plan->program(end.rank_in_plan());
        arguments.message = {
            .digest = digest_of(call, reinterpret_cast<std::uintptr_t>(end.plan->program(0)), {}),
            .input = end.is_send ? end.data : nullptr,
            .output = end.staged != nullptr ? end.staged
                      : end.is_send         ? nullptr
                                            : end.data,
            .call = end.number,
            .chunks = cut.chunks};
        arguments.count = end.count;
        arguments.chunk = cut.chunk;
        arguments.stagger = cut.stagger;
        arguments.grain_shift = cut.grain_shift;
        arguments.replica_part = end.plan->replica_part();
        arguments.timeout_ns = static_cast<std::uint64_t>(state_.options().timeout.count());
    }

    CallRecord* launch() {
        for (const TransferEnd& end : ends_) {
            if (!capturing_) latest(end).order(stream_);
        }
        for (const auto& [end, pinned] : uploads_) {
            end->plan->upload(end->rank_in_plan(), stream_, pinned);
        }
        const auto kernel = kernels::find_program_kernel(type_, ReduceOp::sum);
        unsigned most_blocks = 0;
        for (const Wave& wave : waves_) {
            kernels::ProgramArguments arguments;
            unsigned blocks = wave.blocks_per_call;
            if (wave.size == 1) {
                arguments.call = ends_[wave.first].arguments;
            } else {
                blocks *= static_cast<unsigned>(
                    std::min<std::size_t>(wave.size, kernels::max_blocks / blocks));
                arguments.group = reinterpret_cast<const kernels::CallArguments*>(wave.place.seen);
                arguments.group_size = static_cast<std::uint32_t>(wave.size);
                arguments.blocks_per_call = wave.blocks_per_call;
            }
            if (!capturing_) {
                state_.device_order().before_launch(stream_, DeviceOrder::Kind::exchange, blocks);
            }
            kernels::launch(kernel, arguments, stream_,
                            {.blocks = blocks, .cooperative = blocks > 1});
            most_blocks = std::max(most_blocks, blocks);
        }
        for (TransferEnd& end : ends_) {
            if (end.staged != nullptr) {
                check(cudaMemcpyAsync(end.data, end.staged, end.count * size_of(type_),
                                      cudaMemcpyDefault, stream_.get()),
                      "cudaMemcpyAsync of a staged buffer");
            }
        }
        if (capturing_) {
            retain();
            return nullptr;
        }
        CallRecord* const record = std::exchange(record_, nullptr);
        record->stream = stream_;
        record->event.record(stream_);
        record->number = 0;
        record->next = nullptr;
        record->has_work.store(true, std::memory_order_relaxed);
        queue_.pool.put_back(record);
        for (TransferEnd& end : ends_) {
            latest(end).set(record);
            state_.use_pair(end.pair, end.is_send);
            if (end.staged != nullptr) queue_.staging.free(end.staged, stream_);
        }
        state_.device_order().after_launch(stream_, DeviceOrder::Kind::exchange, most_blocks,
                                           record->event);
        return record;
    }

    LatestCall& latest(const TransferEnd& end) {
        return queue_.transfers[{end.is_send ? end.pair.to : end.pair.from, end.is_send}];
    }

    void retain() {
        auto kept = std::make_unique<KeptByGraph>();
        kept->state = state_.shared_from_this();
        kept->rank = rank_;
        for (TransferEnd& end : ends_) {
            queue_.log.pin(end.number);
            kept->calls.push_back(end.number);
            kept->plans.push_back(std::move(end.plan));
        }
        kept->pinned = std::exchange(record_->pinned, {});
        kept->staging = std::move(for_graph_);
        retain_in_graph(stream_, std::move(kept));
    }

    struct Wave {
        std::size_t first = 0;
        std::size_t size = 0;
        std::uint32_t blocks_per_call = 0;
        PinnedPlace place = {};
    };

    CommunicatorState& state_;
    RankQueue& queue_;
    const std::uint32_t rank_;
    const StreamRef stream_;
    bool capturing_ = false;
    ElementType type_ = ElementType::f32;
    std::vector<TransferEnd> ends_;
    std::vector<Wave> waves_;
    std::vector<std::pair<TransferEnd*, std::byte*>> uploads_;
    std::vector<DeviceBuffer<std::byte>> for_graph_;
    CallRecord* record_ = nullptr;
};

}  // namespace
}  // namespace detail

Work RankHandle::exchange(std::span<const Transfer> transfers, const CallOptions& options) const {
    state_->throw_if_unusable();
    detail::check_options(options, 1, ReduceOp::sum);
    const cudaStream_t stream = options.streams.empty() ? cudaStreamLegacy : options.streams[0];
    detail::check_stream(stream, rank_, state_->machine().device(rank_));
    if (transfers.empty()) return {};
    detail::Exchange exchange(*state_, rank_, stream);
    for (const Transfer& transfer : transfers) exchange.add(transfer);
    return {state_, exchange.run()};
}

}  // namespace rondo
