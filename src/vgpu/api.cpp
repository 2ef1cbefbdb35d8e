// Shared parts of the API functions.
#include "vgpu/api.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace vgpu {

cudaError_t conclude(const char* function, cudaError_t code, std::string detail) {
    if (code == cudaErrorNotReady) return code;  // a state, not an error: it is not remembered
    ThreadState& thread = this_thread();
    thread.last_error = code;
    thread.error_detail =
        fmt::format("{}: {}", function, detail.empty() ? cudaGetErrorString(code) : detail);
    return code;
}

void throw_no_such_device(const Machine& machine, int ordinal) {
    throw ApiError{cudaErrorInvalidDevice, fmt::format("device {} does not exist; there are {}",
                                                       ordinal, machine.device_count())};
}

void throw_sticky_error(const Device& device) {
    throw ApiError{device.sticky_error.load(),
                   fmt::format("device {} is in an error state", device.index)};
}

void reserve_memory(Device& device, std::size_t bytes) {
    std::size_t used = device.memory_used.load();
    do {
        if (bytes > device.memory_limit || used > device.memory_limit - bytes) {
            throw ApiError{cudaErrorMemoryAllocation,
                           fmt::format("device {} has {} of {} bytes in use; {} more do not fit",
                                       device.index, used, device.memory_limit, bytes)};
        }
    } while (!device.memory_used.compare_exchange_weak(used, used + bytes));
}

namespace {

Stream& per_thread_stream(Machine& machine) {
    ThreadState& thread = this_thread();
    if (thread.machine_generation != machine.generation()) {
        thread.default_streams.clear();
        thread.machine_generation = machine.generation();
    }
    thread.default_streams.resize(static_cast<std::size_t>(machine.device_count()));
    auto& stream = thread.default_streams[static_cast<std::size_t>(thread.device)];
    if (!stream) {
        stream = std::make_unique<Stream>();
        stream->device = thread.device;
        stream->id = machine.next_id++;
        Device& device = machine.device(thread.device);
        if (!device.queue_tails.empty()) stream->hardware_queue = 0;
        device.streams.push_back(stream.get());
    }
    return *stream;
}

}  // namespace

Stream& stream_at(Machine& machine, cudaStream_t handle) {
    if (handle == cudaStreamPerThread || (handle == nullptr && this_thread().per_thread_default)) {
        current_device(machine);
        return per_thread_stream(machine);
    }
    if (handle == nullptr || handle == cudaStreamLegacy)
        return current_device(machine).legacy_stream;
    const auto found = machine.streams.find(reinterpret_cast<Stream*>(handle));
    if (found == machine.streams.end())
        throw ApiError{cudaErrorInvalidResourceHandle, "the stream does not exist"};
    require_healthy(machine.device(found->second->device));
    return *found->second;
}

const std::shared_ptr<Event>& event_at(Machine& machine, cudaEvent_t handle) {
    const std::shared_ptr<Event>* const found =
        machine.events.find(reinterpret_cast<Event*>(handle));
    if (found == nullptr)
        throw ApiError{cudaErrorInvalidResourceHandle, "the event does not exist"};
    return *found;
}

void forbid_while_capturing(Machine& machine) {
    if (machine.captures.load(std::memory_order_relaxed) == 0) return;
    const cudaStreamCaptureMode mine = this_thread().capture_mode;
    if (mine == cudaStreamCaptureModeRelaxed) return;
    bool forbidden = false;
    for (Capture* capture : machine.active_captures) {
        const bool local = capture->thread == std::this_thread::get_id();
        const bool counts = local ? capture->mode != cudaStreamCaptureModeRelaxed
                                  : mine == cudaStreamCaptureModeGlobal &&
                                        capture->mode == cudaStreamCaptureModeGlobal;
        if (!counts) continue;
        capture->invalidated = true;
        forbidden = true;
    }
    if (forbidden)
        throw ApiError{cudaErrorStreamCaptureUnsupported,
                       "a stream capture in progress forbids this call"};
}

void forbid_on_capturing(Stream& stream) {
    if (!stream.capture) return;
    stream.capture->invalidated = true;
    throw ApiError{cudaErrorStreamCaptureUnsupported, "the stream is capturing"};
}

namespace {

cudaGraphNodeType node_type(const Command& command) {
    struct Names {
        cudaGraphNodeType operator()(const KernelCommand&) const { return cudaGraphNodeTypeKernel; }
        cudaGraphNodeType operator()(const CopyCommand&) const { return cudaGraphNodeTypeMemcpy; }
        cudaGraphNodeType operator()(const MemsetCommand&) const { return cudaGraphNodeTypeMemset; }
        cudaGraphNodeType operator()(const HostFunctionCommand&) const {
            return cudaGraphNodeTypeHost;
        }
        cudaGraphNodeType operator()(const EventCommand& command) const {
            return command.record ? cudaGraphNodeTypeEventRecord : cudaGraphNodeTypeWaitEvent;
        }
        cudaGraphNodeType operator()(const MarkerCommand&) const { return cudaGraphNodeTypeEmpty; }
        cudaGraphNodeType operator()(const FreeCommand&) const { return cudaGraphNodeTypeMemFree; }
        cudaGraphNodeType operator()(const ReleaseCommand&) const { return cudaGraphNodeTypeEmpty; }
    };
    return std::visit(Names{}, command);
}

void capture_node(Stream& stream, Command&& command) {
    if (stream.capture->invalidated)
        throw ApiError{cudaErrorStreamCaptureInvalidated, "the capture was invalidated"};
    if (std::holds_alternative<FreeCommand>(command)) forbid_on_capturing(stream);
    const cudaGraphNodeType type = node_type(command);
    GraphNode* node =
        stream.capture->graph->add(type, std::move(command), stream.device, stream.capture_tail);
    stream.capture_tail = {node};
}

/// The legacy stream may not be used while a blocking stream of its device captures: it would
/// depend on it.
void forbid_implicit_dependency(Device& device) {
    for (Stream* other : device.streams) {
        if (!other->capture || !other->blocking()) continue;
        other->capture->invalidated = true;
        throw ApiError{cudaErrorStreamCaptureImplicit,
                       "the legacy stream would depend on a stream that captures"};
    }
}

/// The legacy default stream waits for all blocking streams of its device and they wait for it.
void add_implicit_dependencies(Device& device, const Stream& stream,
                               std::vector<OperationPtr>& after) {
    if (stream.legacy) {
        for (const Stream* other : device.streams) {
            if (other->blocking() && !other->idle()) after.push_back(other->tail);
        }
    } else if (stream.blocking() && !device.legacy_stream.idle()) {
        after.push_back(device.legacy_stream.tail);
    }
}

}  // namespace

bool tail_says_all(Machine& machine, const Stream& stream) {
    if (stream.hardware_queue >= 0) return false;
    Device& device = machine.device(stream.device);
    if (!stream.legacy) return !stream.blocking() || device.legacy_stream.idle();
    return std::all_of(device.streams.begin(), device.streams.end(), [](const Stream* other) {
        return !other->blocking() || (other->idle() && !other->capture);
    });
}

OperationPtr issue(Machine& machine, Stream& stream, Command&& command,
                   std::span<const OperationPtr> also_after) {
    const bool captures = stream.capture != nullptr;
    OperationPtr operation = Operation::make(stream.device, std::move(command));
    issue(machine, stream, OperationPtr(operation), also_after);
    return captures ? nullptr : operation;
}

void issue(Machine& machine, Stream& stream, OperationPtr&& operation,
           std::span<const OperationPtr> also_after) {
    Device& device = machine.device(stream.device);
    if (stream.capture) {
        capture_node(stream, std::move(operation->command));
        return;
    }
    if (stream.legacy) forbid_implicit_dependency(device);
    operation->device = stream.device;
    operation->priority = stream.priority;
    thread_local std::vector<OperationPtr> after;
    after.assign(also_after.begin(), also_after.end());
    if (!stream.idle()) after.push_back(stream.tail);
    add_implicit_dependencies(device, stream, after);
    if (stream.hardware_queue >= 0) {
        OperationPtr& queue_tail =
            device.queue_tails[static_cast<std::size_t>(stream.hardware_queue)];
        machine.scheduler().start_after(operation, queue_tail);
        queue_tail = operation;
    }
    stream.tail = std::move(operation);
    machine.scheduler().submit(stream.tail, after);
    after.clear();
}

std::vector<OperationPtr> tails_of(Device& device) {
    std::erase_if(device.detached, [](const OperationPtr& operation) { return operation->done(); });
    std::vector<OperationPtr> tails = device.detached;
    if (!device.legacy_stream.idle()) tails.push_back(device.legacy_stream.tail);
    for (const Stream* stream : device.streams) {
        if (!stream->idle()) tails.push_back(stream->tail);
    }
    return tails;
}

void wait_for(Machine& machine, std::span<OperationPtr> operations, const Device& device) {
    machine.scheduler().wait(operations);
    machine.memory().give_back_detached();
    require_healthy(device);
}

void wait_for_device(Machine& machine, Device& device) {
    std::vector<OperationPtr> tails;
    {
        std::scoped_lock lock(machine.scheduler().mutex());
        tails = tails_of(device);
    }
    wait_for(machine, tails, device);
}

namespace {

/// A wait that ends because the device broke down (a deadlock, say) is over too: the next call for
/// the device tells it.
void wait_while_healthy(Machine& machine, Device& device) {
    if (device.sticky_error.load() != cudaSuccess) return;
    std::vector<OperationPtr> tails;
    {
        std::scoped_lock lock(machine.scheduler().mutex());
        tails = tails_of(device);
    }
    machine.scheduler().wait(tails);
}

}  // namespace

void may_synchronise(Machine& machine, Device& device) {
    note_effect(CallEffect::may_synchronise);
    if (machine.options().hostile) wait_while_healthy(machine, device);
}

void may_synchronise_all(Machine& machine) {
    note_effect(CallEffect::may_synchronise);
    if (!machine.options().hostile) return;
    for (int i = 0; i < machine.device_count(); ++i) wait_while_healthy(machine, machine.device(i));
}

}  // namespace vgpu
