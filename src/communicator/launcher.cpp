#include "communicator/launcher.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "communicator/graph_retention.hpp"
#include "cuda/check.hpp"
#include "cuda/device_guard.hpp"
#include "cuda/graph.hpp"

namespace rondo::detail {
namespace {

/// The ranks of the thread's present call.
std::vector<PreparedRank>& rank_storage() {
    static thread_local std::vector<PreparedRank> storage;
    return storage;
}

std::size_t total_bytes(const RankBuffers& buffers, std::uint64_t whole, std::size_t element) {
    if (buffers.segments.empty()) return whole * element;
    std::uint64_t count = 0;
    for (const Segment& segment : buffers.segments) count += segment.count;
    return count * element;
}

std::size_t table_bytes(std::size_t segments) {
    return sizeof(kernels::Segments) + segments * (sizeof(std::uint64_t) + 2 * sizeof(void*));
}

}  // namespace

Launcher::Launcher(CommunicatorState& state, const Call& call)
    : state_(state), call_(call), ranks_(rank_storage()) {}

/// What was prepared and not launched goes back.
Launcher::~Launcher() {
    for (PreparedRank& prepared : ranks_) {
        free_staging(prepared);
        if (prepared.record == nullptr) continue;
        RankQueue& queue = state_.rank(prepared.rank);
        const std::lock_guard lock(queue.mutex);
        prepared.record->pinned.clear();
        prepared.record->leave_work();
        queue.pool.put_back(prepared.record);
    }
    ranks_.clear();
}

void Launcher::prepare(std::uint32_t first_rank, std::span<const RankBuffers> buffers,
                       bool may_wait) try {
    ranks_.clear();
    plan_ = state_.plans().find(call_);
    if (has_uneven_pairs(call_) && !plan_->takes_uneven_parts()) {
        throw Unsupported(fmt::format(
            "{}: parts of different lengths can't be relayed, since the relaying rank does not "
            "know their lengths",
            plan_->plan().schedule.name));
    }
    kernel_ = kernels::find_program_kernel(call_.type, call_.op);
    digest_ =
        digest_of(call_, reinterpret_cast<std::uintptr_t>(plan_->program(0)), buffers[0].segments);
    const DeviceGuard guard;
    for (std::uint32_t i = 0; i < buffers.size(); ++i) {
        PreparedRank& prepared = ranks_.emplace_back();
        prepared.rank = first_rank + i;
        prepared.buffers = &buffers[i];
        prepared.call = call_;
        if (has_uneven_pairs(call_) && !buffers[i].send_counts.empty()) {
            prepared.call.counts = buffers[i].send_counts;
            prepared.call.receive_counts = buffers[i].receive_counts;
            prepared.call.count = std::accumulate(buffers[i].send_counts.begin(),
                                                  buffers[i].send_counts.end(), std::uint64_t{0});
        }
        prepare_rank(prepared, may_wait);
        if (prepared.capturing != ranks_.front().capturing) {
            throw InvalidArgument(fmt::format(
                "the stream of rank {} is {}being captured, that of rank {} is {}: all or none "
                "must be",
                prepared.rank, prepared.capturing ? "" : "not ", ranks_.front().rank,
                ranks_.front().capturing ? "" : "not"));
        }
    }
} catch (const CudaError&) {
    state_.fail(std::current_exception());  // nothing was launched, but a device does not work
    throw;
}

void Launcher::prepare_rank(PreparedRank& prepared, bool may_wait) {
    const RankBuffers& buffers = *prepared.buffers;
    const DeviceId device = state_.machine().device(prepared.rank);
    const std::size_t element = size_of(call_.type);
    RankQueue& queue = state_.rank(prepared.rank);
    prepared.cut = plan_->cut(largest_part(prepared.call, state_.ranks()), element);
    prepared.stream = StreamRef(device, buffers.stream);
    const std::lock_guard lock(queue.mutex);
    // What peers touch must be what they can map.
    queue.view.begin_call();
    const auto is_unmapped = [&](auto pointer_of) {
        if (buffers.segments.empty()) {
            const void* const data = pointer_of(Segment{buffers.input, buffers.output, 1});
            return data != nullptr && queue.view.is_unmapped_for_peers(data);
        }
        return std::ranges::any_of(buffers.segments, [&](const Segment& segment) {
            return segment.count != 0 && queue.view.is_unmapped_for_peers(pointer_of(segment));
        });
    };
    const bool stages_input = plan_->peers_touch_input(prepared.rank) &&
                              is_unmapped([](const Segment& it) { return it.input; });
    const bool stages_output =
        plan_->peers_touch_output(prepared.rank) &&
        is_unmapped([](const Segment& it) -> const void* { return it.output; });
    set_current_device(device);  // a default stream is that of the current device
    prepared.capturing = prepared.stream.capturing();
    prepared.record = queue.pool.take();
    prepared.record->pinned.clear();
    if (stages_input) {
        prepared.staged_input = take_staging(
            prepared,
            total_bytes(buffers, input_count(prepared.call, state_.ranks(), prepared.rank),
                        element));
    }
    if (stages_output) {
        prepared.staged_output = take_staging(
            prepared,
            total_bytes(buffers, output_count(prepared.call, state_.ranks(), prepared.rank),
                        element));
    }
    if (!buffers.segments.empty()) write_segments(prepared, may_wait);
    if (is_uneven(prepared.call)) write_begins(prepared, may_wait);
    if (const std::size_t bytes = plan_->upload_bytes(prepared.rank)) {
        prepared.upload = state_.take_pinned(prepared.rank, *prepared.record, bytes, may_wait).host;
        if (prepared.capturing) {  // must not become a part of the graph
            const RelaxedCaptureMode relaxed;
            const Stream own(device);
            plan_->upload(prepared.rank, own, prepared.upload);
            own.synchronize();
            prepared.upload = nullptr;
        }
    }
    prepared.number = queue.log.keep(prepared.call, buffers.segments.size());
}

/// Memory on the rank's own device that all its peers can use, from this point of its stream on.
std::byte* Launcher::take_staging(PreparedRank& prepared, std::size_t bytes) {
    if (bytes == 0) return nullptr;
    if (!prepared.capturing) {
        return static_cast<std::byte*>(
            state_.rank(prepared.rank).staging.allocate(bytes, prepared.stream));
    }
    const RelaxedCaptureMode relaxed;
    return prepared.for_graph.emplace_back(prepared.stream.device(), bytes).data();
}

void Launcher::free_staging(PreparedRank& prepared) noexcept {
    if (prepared.capturing) return;  // the graph's
    for (std::byte** const memory : {&prepared.staged_input, &prepared.staged_output}) {
        if (*memory == nullptr) continue;
        try {
            const DeviceGuard guard(prepared.stream.device());
            state_.rank(prepared.rank).staging.free(*memory, prepared.stream);
        } catch (const Error&) {
            // The device is lost, and its memory with it.
        }
        *memory = nullptr;
    }
}

/// The tensors' addresses as all ranks read them: in pinned memory, with staged buffers in place of
/// those that peers can't map.
void Launcher::write_segments(PreparedRank& prepared, bool may_wait) {
    const std::span<const Segment> segments = prepared.buffers->segments;
    const std::size_t element = size_of(call_.type);
    const PinnedPlace place =
        state_.take_pinned(prepared.rank, *prepared.record, table_bytes(segments.size()), may_wait);
    auto* const header = reinterpret_cast<kernels::Segments*>(place.host);
    auto* const ends = reinterpret_cast<std::uint64_t*>(place.host + sizeof(kernels::Segments));
    auto** const inputs = reinterpret_cast<void**>(ends + segments.size());
    auto** const outputs = inputs + segments.size();
    std::uint64_t end = 0;
    for (std::size_t i = 0; i < segments.size(); ++i) {
        inputs[i] = prepared.staged_input != nullptr ? prepared.staged_input + end * element
                                                     : const_cast<void*>(segments[i].input);
        outputs[i] = prepared.staged_output != nullptr ? prepared.staged_output + end * element
                                                       : segments[i].output;
        end += segments[i].count;
        ends[i] = end;
    }
    const auto as_seen = [&](const void* pointer) {
        return place.seen + (static_cast<const std::byte*>(pointer) - place.host);
    };
    *header = {.ends = reinterpret_cast<const std::uint64_t*>(as_seen(ends)),
               .inputs = reinterpret_cast<void* const*>(as_seen(inputs)),
               .outputs = reinterpret_cast<void* const*>(as_seen(outputs))};
    prepared.segments = reinterpret_cast<const kernels::Segments*>(place.seen);
}

/// Where parts begin, from their lengths.
void Launcher::write_begins(PreparedRank& prepared, bool may_wait) {
    const std::size_t bytes = 2 * (state_.ranks() + 1) * sizeof(std::uint64_t);
    const PinnedPlace place = state_.take_pinned(prepared.rank, *prepared.record, bytes, may_wait);
    auto* begins = reinterpret_cast<std::uint64_t*>(place.host);
    for (const std::span<const std::uint64_t> counts :
         {prepared.call.counts, prepared.call.receive_counts}) {
        std::uint64_t begin = 0;
        for (const std::uint64_t count : counts) {
            *begins++ = begin;
            begin += count;
        }
        *begins++ = begin;
    }
    prepared.part_begins = reinterpret_cast<const std::uint64_t*>(place.seen);
}

CallRecord* Launcher::launch() try {
    const DeviceGuard guard;
    CallRecord* first = nullptr;
    CallRecord** next = &first;
    for (PreparedRank& prepared : ranks_) {
        CallRecord* const record = launch_rank(prepared);
        if (record != nullptr) {
            *next = record;
            next = &record->next;
        }
    }
    for (PreparedRank& prepared : ranks_) {
        if (prepared.staged_input == nullptr && prepared.staged_output == nullptr) continue;
        // A rank that is aborted leaves while its peers may still make their last writes.
        for (const CallRecord* other = first; other != nullptr; other = other->next) {
            if (!(other->stream == prepared.stream)) prepared.stream.wait(other->event);
        }
        free_staging(prepared);
    }
    return first;
} catch (...) {
    state_.fail(std::current_exception());
    // What is in the streams already ends now, before anybody frees what it uses.
    for (const PreparedRank& prepared : ranks_) {
        if (prepared.is_launched && !prepared.capturing) {
            cudaSetDevice(prepared.stream.device().value());
            cudaStreamSynchronize(prepared.stream.get());
        }
    }
    std::rethrow_exception(state_.failure());  // the first one, for every rank
}

void Launcher::fill_arguments(const PreparedRank& prepared) {
    const RankBuffers& buffers = *prepared.buffers;
    kernels::CallArguments& call = arguments_.call;
    call = state_.connections().arguments(prepared.rank);
    call.program = plan_->program(prepared.rank);
    call.message = {
        .digest = digest_,
        .input = prepared.staged_input != nullptr ? prepared.staged_input : buffers.input,
        .output = prepared.staged_output != nullptr ? prepared.staged_output : buffers.output,
        .segments = prepared.segments,
        .call = prepared.number,
        .chunks = prepared.cut.chunks};
    if (call_.op == ReduceOp::premul_sum) {
        call.message.word = kernels::argument_bits(call_.type, buffers.factor);
        call.one = kernels::argument_bits(call_.type, 1);
    }
    call.count = has_owners(call_.collective) ? call_.count / state_.ranks() : call_.count;
    call.chunk = prepared.cut.chunk;
    call.stagger = prepared.cut.stagger;
    call.grain_shift = prepared.cut.grain_shift;
    call.replica_part = plan_->replica_part();
    call.timeout_ns = static_cast<std::uint64_t>(state_.options().timeout.count());
    call.divisor = call_.op == ReduceOp::mean ? state_.ranks() : 0;
    call.uneven = is_uneven(prepared.call) ? 1 : 0;
    call.pairs = call_.collective == Collective::all_to_all ? 1 : 0;
    arguments_.part_begins = prepared.part_begins;
    if (has_uneven_pairs(prepared.call)) {
        call.message.word = balance_of(prepared.call, prepared.rank);
    }
}

/// Inputs to what stands in for them, outputs from there.
void Launcher::copy_staged(const PreparedRank& prepared, bool is_input) {
    std::byte* staged = is_input ? prepared.staged_input : prepared.staged_output;
    if (staged == nullptr) return;
    const RankBuffers& buffers = *prepared.buffers;
    const std::uint64_t whole = is_input
                                    ? input_count(prepared.call, state_.ranks(), prepared.rank)
                                    : output_count(prepared.call, state_.ranks(), prepared.rank);
    const Segment one{buffers.input, buffers.output, whole};
    for (const Segment& segment :
         buffers.segments.empty() ? std::span(&one, 1) : buffers.segments) {
        const std::size_t bytes = segment.count * size_of(call_.type);
        if (bytes != 0) {
            check(cudaMemcpyAsync(is_input ? staged : segment.output,
                                  is_input ? segment.input : staged, bytes, cudaMemcpyDefault,
                                  prepared.stream.get()),
                  "cudaMemcpyAsync of a staged buffer");
        }
        staged += bytes;
    }
}

CallRecord* Launcher::launch_rank(PreparedRank& prepared) {
    RankQueue& queue = state_.rank(prepared.rank);
    const StreamRef stream = prepared.stream;
    const unsigned blocks = plan_->blocks(prepared.rank);
    const std::lock_guard lock(queue.mutex);
    set_current_device(stream.device());
    if (!prepared.capturing) {
        queue.last.order(stream);
        state_.device_order().before_launch(stream, DeviceOrder::Kind::collective, blocks);
    }
    prepared.is_launched = true;
    if (prepared.upload != nullptr) plan_->upload(prepared.rank, stream, prepared.upload);
    fill_arguments(prepared);
    copy_staged(prepared, true);
    kernels::launch(kernel_, arguments_, stream, {.blocks = blocks, .cooperative = blocks > 1});
    copy_staged(prepared, false);
    if (prepared.capturing) {
        retain(prepared);
        return nullptr;
    }
    CallRecord* const record = std::exchange(prepared.record, nullptr);
    record->stream = stream;
    record->event.record(stream);
    record->number = ++queue.collectives;
    record->next = nullptr;
    record->has_work.store(true, std::memory_order_relaxed);
    plan_->latest_call(prepared.rank) = record->number;
    queue.last.set(record);
    queue.pool.put_back(record);
    state_.device_order().after_launch(stream, DeviceOrder::Kind::collective, blocks,
                                       record->event);
    return record;
}

/// The graph keeps what it runs alive.
void Launcher::retain(PreparedRank& prepared) {
    RankQueue& queue = state_.rank(prepared.rank);
    queue.log.pin(prepared.number);
    auto kept = std::make_unique<KeptByGraph>();
    kept->state = state_.shared_from_this();
    kept->plans.push_back(plan_.share());
    kept->rank = prepared.rank;
    kept->calls.push_back(prepared.number);
    kept->pinned = std::exchange(prepared.record->pinned, {});
    kept->staging = std::move(prepared.for_graph);
    retain_in_graph(prepared.stream, std::move(kept));
}

}  // namespace rondo::detail
