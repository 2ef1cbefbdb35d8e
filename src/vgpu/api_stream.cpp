// Streams, events and host functions.
#include <fmt/format.h>

#include <algorithm>

#include "vgpu/api.hpp"

using namespace vgpu;

namespace {

constexpr int greatest_priority = -5;

cudaError_t create_stream(const char* function, cudaStream_t* handle, unsigned flags,
                          int priority) {
    return api(function, [&](Machine& machine) {
        require(handle != nullptr, "pStream is null");
        require(flags == cudaStreamDefault || flags == cudaStreamNonBlocking,
                "flags must be cudaStreamDefault or cudaStreamNonBlocking");
        Device& device = current_device(machine);
        may_synchronise(machine, device);
        require_healthy(device);
        std::scoped_lock lock(machine.scheduler().mutex());
        auto stream = std::make_unique<Stream>();
        stream->device = device.index;
        stream->flags = flags;
        stream->priority = std::clamp(priority, greatest_priority, 0);
        stream->id = machine.next_id++;
        if (!device.queue_tails.empty()) {
            stream->hardware_queue =
                device.next_queue++ % static_cast<int>(device.queue_tails.size());
        }
        device.streams.push_back(stream.get());
        *handle = reinterpret_cast<cudaStream_t>(stream.get());
        machine.streams.emplace(stream.get(), std::move(stream));
        return cudaSuccess;
    });
}

/// Reads something off a stream under the lock.
template <class Value, class Read>
cudaError_t query_stream(const char* function, cudaStream_t handle, Value* result, Read read) {
    return api(function, [&](Machine& machine) {
        require(result != nullptr, "the pointer to store to is null");
        std::scoped_lock lock(machine.scheduler().mutex());
        *result = read(stream_at(machine, handle));
        return cudaSuccess;
    });
}

cudaError_t create_event(const char* function, cudaEvent_t* handle, unsigned flags) {
    return api(function, [&](Machine& machine) {
        require(handle != nullptr, "event is null");
        require((flags &
                 ~(cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess)) == 0,
                "flags has unknown bits");
        require((flags & cudaEventInterprocess) == 0 || (flags & cudaEventDisableTiming) != 0,
                "cudaEventInterprocess needs cudaEventDisableTiming");
        if ((flags & cudaEventInterprocess) != 0)
            throw ApiError{cudaErrorNotSupported, "interprocess events"};
        Device& device = current_device(machine);
        may_synchronise(machine, device);
        require_healthy(device);
        auto event = std::make_shared<Event>();
        event->device = device.index;
        event->flags = flags;
        std::scoped_lock lock(machine.scheduler().mutex());
        *handle = reinterpret_cast<cudaEvent_t>(event.get());
        machine.events.add(std::move(event));
        return cudaSuccess;
    });
}

void record(Machine& machine, const std::shared_ptr<Event>& event, Stream& stream, unsigned flags) {
    if (event->device != stream.device) {
        throw ApiError{cudaErrorInvalidResourceHandle,
                       fmt::format("the event belongs to device {}, the stream to device {}",
                                   event->device, stream.device)};
    }
    if (!stream.capture) {
        event->capture = nullptr;
        event->recorded = !event->timing() && tail_says_all(machine, stream)
                              ? stream.tail
                              : issue(machine, stream, MarkerCommand{});
        return;
    }
    if (stream.capture->invalidated)
        throw ApiError{cudaErrorStreamCaptureInvalidated, "the capture was invalidated"};
    if (flags == cudaEventRecordExternal) {
        issue(machine, stream, EventCommand{event, true});
        return;
    }
    event->capture = stream.capture;
    event->captured_after = stream.capture_tail;
}

void invalidate(Capture* capture) {
    if (capture != nullptr) capture->invalidated = true;
}

/// A stream waits for an event of a capture: it joins the capture.
void join_capture(Stream& stream, const Event& event) {
    if (event.capture->invalidated)
        throw ApiError{cudaErrorStreamCaptureInvalidated, "the capture was invalidated"};
    if (stream.capture && stream.capture != event.capture) {
        invalidate(stream.capture.get());
        invalidate(event.capture.get());
        throw ApiError{cudaErrorStreamCaptureMerge,
                       "the event and the stream belong to different captures"};
    }
    if (stream.legacy) {
        invalidate(event.capture.get());
        throw ApiError{cudaErrorStreamCaptureImplicit,
                       "the legacy stream can't take part in a capture"};
    }
    if (!stream.capture) {
        stream.capture = event.capture;
        stream.capture->streams.insert(&stream);
        stream.capture_tail.clear();
    }
    for (GraphNode* node : event.captured_after) {
        if (std::find(stream.capture_tail.begin(), stream.capture_tail.end(), node) ==
            stream.capture_tail.end()) {
            stream.capture_tail.push_back(node);
        }
    }
}

void wait_event(Machine& machine, Stream& stream, const std::shared_ptr<Event>& event,
                unsigned flags) {
    if (flags == cudaEventWaitExternal && stream.capture) {
        issue(machine, stream, EventCommand{event, false});
        return;
    }
    if (event->capture) {
        join_capture(stream, *event);
        return;
    }
    if (stream.capture) {
        if (!event->recorded) return;
        invalidate(stream.capture.get());
        throw ApiError{cudaErrorStreamCaptureIsolation,
                       "the event was recorded outside the capture"};
    }
    if (event->recorded && !event->recorded->done())
        issue(machine, stream, MarkerCommand{}, {&event->recorded, 1});
}

cudaError_t host_function(const char* function, const HostFunctionCommand& command,
                          cudaStream_t handle) {
    return api(function, [&](Machine& machine) {
        require(command.function != nullptr || command.callback != nullptr, "the function is null");
        std::scoped_lock lock(machine.scheduler().mutex());
        Stream& stream = stream_at(machine, handle);
        if (command.callback != nullptr) forbid_on_capturing(stream);
        issue(machine, stream, command);
        return cudaSuccess;
    });
}

}  // namespace

#pragma GCC visibility push(default)  // what programs link to
extern "C" {

cudaError_t CUDARTAPI cudaStreamCreate(cudaStream_t* stream) {
    return create_stream("cudaStreamCreate", stream, cudaStreamDefault, 0);
}

cudaError_t CUDARTAPI cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
    return create_stream("cudaStreamCreateWithFlags", stream, flags, 0);
}

cudaError_t CUDARTAPI cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags,
                                                   int priority) {
    return create_stream("cudaStreamCreateWithPriority", stream, flags, priority);
}

/// Returns at once (not in hostile mode); work already on the stream still runs.
cudaError_t CUDARTAPI cudaStreamDestroy(cudaStream_t handle) {
    return api("cudaStreamDestroy", [&](Machine& machine) {
        const auto find = [&] {
            const auto found = machine.streams.find(reinterpret_cast<Stream*>(handle));
            if (found == machine.streams.end())
                throw ApiError{cudaErrorInvalidResourceHandle, "the stream does not exist"};
            return found;
        };
        std::unique_lock lock(machine.scheduler().mutex());
        Device& device = machine.device(find()->second->device);
        lock.unlock();
        may_synchronise(machine, device);
        lock.lock();
        const auto found = find();
        Stream& stream = *found->second;
        if (stream.capture) {
            stream.capture->invalidated = true;
            stream.capture->streams.erase(&stream);
            if (stream.capture->origin == &stream) abandon_capture(machine, *stream.capture);
        }
        if (!stream.idle())
            device.detached.push_back(stream.tail);  // cudaDeviceSynchronize still waits for it
        std::erase(device.streams, &stream);
        machine.streams.erase(found);
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaStreamSynchronize(cudaStream_t handle) {
    return api("cudaStreamSynchronize", [&](Machine& machine) {
        note_effect(CallEffect::may_synchronise);
        OperationPtr tail;
        const Device* device = nullptr;
        {
            std::scoped_lock lock(machine.scheduler().mutex());
            Stream& stream = stream_at(machine, handle);
            forbid_on_capturing(stream);
            if (stream.legacy) forbid_while_capturing(machine);
            device = &machine.device(stream.device);
            if (!stream.idle()) tail = stream.tail;
        }
        wait_for(machine, {&tail, 1}, *device);
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaStreamQuery(cudaStream_t handle) {
    return api("cudaStreamQuery", [&](Machine& machine) {
        {
            std::scoped_lock lock(machine.scheduler().mutex());
            Stream& stream = stream_at(machine, handle);
            forbid_on_capturing(stream);
            if (stream.idle()) return cudaSuccess;
        }
        machine.scheduler().nudge();
        return cudaErrorNotReady;
    });
}

cudaError_t CUDARTAPI cudaStreamGetPriority(cudaStream_t stream, int* priority) {
    return query_stream("cudaStreamGetPriority", stream, priority,
                        [](const Stream& each) { return each.priority; });
}

cudaError_t CUDARTAPI cudaStreamGetFlags(cudaStream_t stream, unsigned int* flags) {
    return query_stream("cudaStreamGetFlags", stream, flags,
                        [](const Stream& each) { return each.flags; });
}

cudaError_t CUDARTAPI cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
    return query_stream("cudaStreamGetId", stream, id, [](const Stream& each) {
        return each.legacy ? 0x100000000ull + static_cast<unsigned>(each.device) : each.id;
    });
}

cudaError_t CUDARTAPI cudaStreamGetDevice(cudaStream_t stream, int* device) {
    return query_stream("cudaStreamGetDevice", stream, device,
                        [](const Stream& each) { return each.device; });
}

cudaError_t CUDARTAPI cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event,
                                          unsigned int flags) {
    return api("cudaStreamWaitEvent", [&](Machine& machine) {
        require(flags == cudaEventWaitDefault || flags == cudaEventWaitExternal,
                "flags must be default or external");
        std::scoped_lock lock(machine.scheduler().mutex());
        wait_event(machine, stream_at(machine, handle), event_at(machine, event), flags);
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function,
                                         void* user_data) {
    return host_function("cudaLaunchHostFunc",
                         {.function = function, .stream = stream, .user_data = user_data}, stream);
}

cudaError_t CUDARTAPI cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
                                            void* user_data, unsigned int flags) {
    if (flags != 0)
        return api("cudaStreamAddCallback", [](Machine&) { return cudaErrorInvalidValue; });
    return host_function("cudaStreamAddCallback",
                         {.callback = callback, .stream = stream, .user_data = user_data}, stream);
}

// ---- events
// -------------------------------------------------------------------------------------------------------------------

cudaError_t CUDARTAPI cudaEventCreate(cudaEvent_t* event) {
    return create_event("cudaEventCreate", event, cudaEventDefault);
}

cudaError_t CUDARTAPI cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
    return create_event("cudaEventCreateWithFlags", event, flags);
}

cudaError_t CUDARTAPI cudaEventDestroy(cudaEvent_t event) {
    return api("cudaEventDestroy", [&](Machine& machine) {
        std::unique_lock lock(machine.scheduler().mutex());
        Device& device = machine.device(event_at(machine, event)->device);
        lock.unlock();
        may_synchronise(machine, device);
        lock.lock();
        machine.events.erase(event_at(machine, event).get());
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream,
                                               unsigned int flags) {
    return api("cudaEventRecord", [&](Machine& machine) {
        require(flags == cudaEventRecordDefault || flags == cudaEventRecordExternal,
                "flags must be default or external");
        std::scoped_lock lock(machine.scheduler().mutex());
        record(machine, event_at(machine, event), stream_at(machine, stream), flags);
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

cudaError_t CUDARTAPI cudaEventQuery(cudaEvent_t handle) {
    return api("cudaEventQuery", [&](Machine& machine) {
        {
            std::scoped_lock lock(machine.scheduler().mutex());
            const auto& event = event_at(machine, handle);
            if (event->capture)
                throw ApiError{cudaErrorCapturedEvent, "the event was recorded in a capture"};
            forbid_while_capturing(machine);
            require_healthy(machine.device(event->device));
            if (!event->recorded || event->recorded->done()) return cudaSuccess;
        }
        machine.scheduler().nudge();
        return cudaErrorNotReady;
    });
}

cudaError_t CUDARTAPI cudaEventSynchronize(cudaEvent_t handle) {
    return api("cudaEventSynchronize", [&](Machine& machine) {
        note_effect(CallEffect::may_synchronise);
        OperationPtr operation;
        const Device* device = nullptr;
        {
            std::scoped_lock lock(machine.scheduler().mutex());
            const auto& event = event_at(machine, handle);
            if (event->capture)
                throw ApiError{cudaErrorCapturedEvent, "the event was recorded in a capture"};
            forbid_while_capturing(machine);
            device = &machine.device(event->device);
            if (event->recorded && !event->recorded->done()) operation = event->recorded;
        }
        wait_for(machine, {&operation, 1}, *device);
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaEventElapsedTime(float* milliseconds, cudaEvent_t first,
                                           cudaEvent_t second) {
    return api("cudaEventElapsedTime", [&](Machine& machine) {
        require(milliseconds != nullptr, "ms is null");
        std::scoped_lock lock(machine.scheduler().mutex());
        const auto& start = event_at(machine, first);
        const auto& end = event_at(machine, second);
        if (!start->timing() || !end->timing())
            throw ApiError{cudaErrorInvalidResourceHandle, "an event was made without timing"};
        if (start->device != end->device)
            throw ApiError{cudaErrorInvalidResourceHandle,
                           "the events belong to different devices"};
        if (start->capture || end->capture)
            throw ApiError{cudaErrorCapturedEvent, "an event was recorded in a capture"};
        if (!start->recorded || !end->recorded)
            throw ApiError{cudaErrorInvalidResourceHandle, "an event was not recorded"};
        if (!start->recorded->done() || !end->recorded->done()) return cudaErrorNotReady;
        *milliseconds = static_cast<float>(static_cast<double>(end->recorded->finished_ns) -
                                           static_cast<double>(start->recorded->finished_ns)) *
                        1e-6f;
        return cudaSuccess;
    });
}

}  // extern "C"
#pragma GCC visibility pop
