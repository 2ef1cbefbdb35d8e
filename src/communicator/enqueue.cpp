// Puts one rank's part of a call into its stream.
#include <algorithm>

#include "communicator/core.hpp"
#include "cuda/check.hpp"
#include "cuda/device_guard.hpp"
#include "cuda/graph.hpp"
#include "kernels/launch.hpp"

namespace rondo::detail {
namespace {

/// What graphs held and hold no more. Their end may not call CUDA, so somebody else must free it:
/// the next communicator that is made.
struct Released {
    std::mutex mutex;
    std::vector<std::shared_ptr<Core>> cores;
};

Released& released() {
    static Released* const list = new Released;  // never destroyed: graphs may end at any time
    return *list;
}

void release_from_graph(void* data) {
    const std::unique_ptr<std::shared_ptr<Core>> owner(static_cast<std::shared_ptr<Core>*>(data));
    const std::lock_guard lock(released().mutex);
    released().cores.push_back(std::move(*owner));
}

/// A graph keeps what it runs alive: the communicator with all its plans.
void retain_in_graph(StreamRef stream, std::shared_ptr<Core> core) {
    auto owner = std::make_unique<std::shared_ptr<Core>>(std::move(core));
    cudaUserObject_t object = nullptr;
    check(cudaUserObjectCreate(&object, owner.get(), release_from_graph, 1,
                               cudaUserObjectNoDestructorSync),
          "cudaUserObjectCreate");
    owner.release();
    check(
        cudaGraphRetainUserObject(graph_being_captured(stream), object, 1, cudaGraphUserObjectMove),
        "cudaGraphRetainUserObject");
}

}  // namespace

void free_released_cores() {
    std::vector<std::shared_ptr<Core>> cores;
    {
        const std::lock_guard lock(released().mutex);
        cores.swap(released().cores);
    }
}

std::size_t Core::CallBuffer::bytes() const {
    std::uint64_t count = 0;
    for (const Segment& segment : segments) count += segment.count;
    return count * element;
}

void* Core::CallBuffer::data(const Segment& segment) const {
    return is_input ? const_cast<void*>(segment.input) : segment.output;
}

std::byte* Core::stage(const CallBuffer& buffer, const Plan& plan, std::uint32_t rank) {
    RankRecord& record = *records_[rank];
    const BufferUse use = buffer.is_input ? plan.input_use(rank) : plan.output_use(rank);
    StagingPlaces& places = buffer.is_input ? record.input : record.output;
    const DeviceId device = machine_.device(rank);
    if (use == BufferUse::own) {
        return nullptr;
    }
    if (use == BufferUse::from_afar) {
        const std::size_t bytes = buffer.bytes();
        return bytes == 0 ? nullptr : places.host.reserve(device, bytes);
    }
    const bool hidden = std::ranges::any_of(buffer.segments, [&](const Segment& segment) {
        return segment.count != 0 && record.view.hides(buffer.data(segment));
    });
    return hidden ? places.device.reserve(device, buffer.bytes()) : nullptr;
}

kernels::ProgramArguments Core::arguments_of(const Call& call, const PlannedCall& planned,
                                             std::uint32_t rank, const RankBuffers& buffers) const {
    kernels::ProgramArguments arguments = connections_.arguments(rank);
    const Cut& cut = planned.cut;
    arguments.program = planned.cached->plan->program(rank);
    arguments.message.input = buffers.input;
    arguments.message.output = buffers.output;
    std::uint64_t plan = planned.cached->hash;
    for (const Segment& segment : buffers.segments) {
        plan = plan * 0x100000001b3 + segment.count + 1;
    }
    arguments.message.signature = {
        .count = call.count,
        .plan = plan,
        .root = call.root,
        .kind = kernels::Signature::kind_of(static_cast<std::uint8_t>(call.collective),
                                            static_cast<std::uint8_t>(call.type),
                                            static_cast<std::uint8_t>(call.op))};
    if (call.op == ReduceOp::premul_sum) {
        arguments.message.factor = kernels::argument_bits(call.type, buffers.factor);
        arguments.one = kernels::argument_bits(call.type, 1);
    }
    arguments.share = cut.share;
    arguments.extra_shares = cut.extra_shares;
    arguments.grain = cut.grain;
    arguments.chunk = cut.chunk;
    arguments.chunks = cut.chunks;
    arguments.divisor = call.op == ReduceOp::mean ? machine_.ranks() : 0;
    arguments.timeout_ns = static_cast<std::uint64_t>(options_.timeout.count());
    return arguments;
}

/// The tensors' addresses as all ranks read them: in pinned memory, with staged buffers in place of
/// those that peers can't reach.
const kernels::Segments* Core::write_table(Pending& pending, std::span<const Segment> segments,
                                           const std::byte* staged_input, std::byte* staged_output,
                                           std::size_t element) {
    const std::size_t count = segments.size();
    const std::size_t bytes =
        sizeof(kernels::Segments) + count * (sizeof(std::uint64_t) + 2 * sizeof(void*));
    if (pending.table.empty() || pending.table[0].size() < bytes) {
        const RelaxedCaptureMode relaxed;
        pending.table.clear();
        pending.table.emplace_back(pending.event.device(), 2 * bytes);
    }
    std::byte* const host = pending.table[0].data();
    std::byte* const seen = pending.table[0].device_span().data();
    auto* const header = reinterpret_cast<kernels::Segments*>(host);
    auto* const ends = reinterpret_cast<std::uint64_t*>(host + sizeof(kernels::Segments));
    auto** const inputs = reinterpret_cast<void**>(ends + count);
    auto** const outputs = inputs + count;
    std::uint64_t end = 0;
    for (std::size_t i = 0; i < count; ++i) {
        inputs[i] = staged_input != nullptr ? const_cast<std::byte*>(staged_input) + end * element
                                            : const_cast<void*>(segments[i].input);
        outputs[i] = staged_output != nullptr ? staged_output + end * element : segments[i].output;
        end += segments[i].count;
        ends[i] = end;
    }
    const auto as_seen = [&](const void* pointer) {
        return seen + (static_cast<const std::byte*>(pointer) - host);
    };
    *header = {.ends = reinterpret_cast<const std::uint64_t*>(as_seen(ends)),
               .inputs = reinterpret_cast<void* const*>(as_seen(inputs)),
               .outputs = reinterpret_cast<void* const*>(as_seen(outputs))};
    return reinterpret_cast<const kernels::Segments*>(seen);
}

/// Inputs to what stands in for them, outputs from there.
void Core::copy_tensors(const CallBuffer& buffer, std::byte* staged, StreamRef stream) {
    for (const Segment& segment : buffer.segments) {
        const std::size_t bytes = segment.count * buffer.element;
        void* const own = buffer.data(segment);
        if (bytes != 0) {
            check(cudaMemcpyAsync(buffer.is_input ? staged : own, buffer.is_input ? own : staged,
                                  bytes, cudaMemcpyDefault, stream.get()),
                  "cudaMemcpyAsync of a staged buffer");
        }
        staged += bytes;
    }
}

Pending* Core::enqueue(const Call& call, const PlannedCall& planned, std::uint32_t rank,
                       const RankBuffers& buffers) try {
    const StreamRef stream(machine_.device(rank), buffers.stream);
    const std::lock_guard lock(records_[rank]->mutex);
    bool capturing = true;  // until it is known; the stream holds nothing of the call before
    try {
        return enqueue_locked(call, planned, rank, buffers, stream, capturing);
    } catch (...) {
        // What is in the stream already ends now, before anybody frees what it uses.
        fail(std::current_exception());
        if (!capturing) {
            set_current_device(stream.device());
            cudaStreamSynchronize(stream.get());
        }
        throw;
    }
} catch (...) {
    fail(std::current_exception());
    std::rethrow_exception(failure_->get());  // the first one, for every rank
}

Pending* Core::enqueue_locked(const Call& call, const PlannedCall& planned, std::uint32_t rank,
                              const RankBuffers& buffers, StreamRef stream, bool& capturing) {
    const DeviceId device = stream.device();
    Plan& plan = *planned.cached->plan;
    RankRecord& record = *records_[rank];
    const std::size_t element = size_of(call.type);
    const bool segmented = !buffers.segments.empty();
    const Segment whole_input{buffers.input, nullptr, input_count(call, machine_.ranks(), rank)};
    const Segment whole_output{nullptr, buffers.output, output_count(call, machine_.ranks(), rank)};
    const auto tensors = [&](const Segment& whole) {
        return segmented ? buffers.segments : std::span<const Segment>(&whole, 1);
    };
    record.view.begin_call();
    const CallBuffer input{true, tensors(whole_input), element};
    const CallBuffer output{false, tensors(whole_output), element};
    std::byte* const staged_input = stage(input, plan, rank);
    std::byte* const staged_output = stage(output, plan, rank);
    // From here on: a default stream is that of the current device.
    set_current_device(device);
    capturing = stream.capturing();
    if (!capturing && record.last != nullptr && !(record.last->stream == stream)) {
        stream.wait(record.last->event);
    }
    if (!plan.is_uploaded(rank)) {
        if (capturing) {  // must not become a part of the graph
            const RelaxedCaptureMode relaxed;
            const Stream own(device);
            plan.upload(rank, own);
            own.synchronize();
        } else {
            plan.upload(rank, stream);
        }
    }
    kernels::ProgramArguments arguments = arguments_of(call, planned, rank, buffers);
    if (staged_input != nullptr) {
        copy_tensors(input, staged_input, stream);
        arguments.message.input = staged_input;
    }
    if (staged_output != nullptr) {
        arguments.message.output = staged_output;
    }
    Pending* const pending = record.pool.take(device, record.last, segmented);
    // Whatever happens below, the Pending is not lost.
    const auto put_back = [&](Pending* used) { record.pool.put_back(used); };
    std::unique_ptr<Pending, decltype(put_back)> owner(pending, put_back);
    if (segmented) {
        arguments.message.segments =
            write_table(*pending, buffers.segments, staged_input, staged_output, element);
    }
    const unsigned lanes = plan.lanes(rank);
    kernels::launch(planned.kernel, arguments, stream, {.blocks = lanes, .cooperative = lanes > 1});
    if (staged_output != nullptr) {
        copy_tensors(output, staged_output, stream);
    }
    if (capturing) {
        retain_in_graph(stream, shared_from_this());
        if (segmented) {
            owner.release();  // the graph refers to its table for ever
        }
        return nullptr;
    }
    pending->stream = stream;
    pending->event.record(stream);
    pending->next = nullptr;
    pending->has_work.store(true, std::memory_order_relaxed);
    record.last = pending;
    return pending;
}

}  // namespace rondo::detail
