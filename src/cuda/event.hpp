// Events of a named device: EventRef names one, Event owns one.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/device.hpp"
#include "cuda/stream.hpp"

namespace rondo {

/// An event that somebody else keeps alive, and its device.
class EventRef {
public:
    EventRef(DeviceId device, cudaEvent_t handle) noexcept : device_(device), handle_(handle) {}

    DeviceId device() const noexcept { return device_; }
    cudaEvent_t get() const noexcept { return handle_; }

    /// Holds what is in the stream now; replaces what was recorded before. Waits already issued
    /// keep the old state. Throws InvalidArgument when the stream belongs to another device.
    void record(StreamRef stream) const;
    /// Whether all recorded work is done; true if nothing was ever recorded. Never blocks.
    bool ready() const;
    /// Blocks the calling thread until ready(); throws what that work left behind.
    void synchronize() const;

    bool operator==(const EventRef&) const noexcept = default;

private:
    DeviceId device_;
    cudaEvent_t handle_;
};

/// Milliseconds between two completed events that were made with timing, on one device.
float elapsed_milliseconds(EventRef start, EventRef end);

struct EventOptions {
    bool timing = false;         ///< needed by elapsed_milliseconds(); slower
    bool blocking_sync = false;  ///< synchronize() sleeps instead of spinning
};

/// Owns an event. It may be destroyed while pending. Move-only; a moved-from Event may only be
/// assigned or destroyed.
class Event : public EventRef {
public:
    explicit Event(DeviceId device, EventOptions options = {});
    ~Event();

    Event(Event&& other) noexcept;
    Event& operator=(Event&& other) noexcept;
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;

    EventRef ref() const noexcept { return *this; }

private:
    void destroy() noexcept;

    bool owns_ = false;
};

}  // namespace rondo
