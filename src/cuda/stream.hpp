// Streams of a named device: StreamRef names one, Stream owns one.
#pragma once

#include <optional>

#include <cuda_runtime_api.h>

#include "cuda/device.hpp"

namespace rondo {

class EventRef;

/// A stream that somebody else keeps alive, and its device.
class StreamRef {
public:
    StreamRef(DeviceId device, cudaStream_t handle) noexcept : device_(device), handle_(handle) {}

    /// The stream that implicitly waits for, and blocks, all blocking streams of the device.
    static StreamRef legacy_default(DeviceId device) noexcept { return {device, cudaStreamLegacy}; }
    /// The calling thread's own default stream.
    static StreamRef per_thread_default(DeviceId device) noexcept {
        return {device, cudaStreamPerThread};
    }

    DeviceId device() const noexcept { return device_; }
    cudaStream_t get() const noexcept { return handle_; }

    /// Blocks the calling thread until the stream is empty; throws what its work left behind.
    void synchronize() const;
    /// Whether the stream is empty. Never blocks.
    bool ready() const;
    /// Work added from now on waits until everything recorded in `event` is done. The event may be
    /// of another device.
    void wait(EventRef event) const;
    /// `function(data)` runs on a thread of the runtime when earlier work is done; later work waits
    /// for it. It must not call CUDA, and does not run if the device has failed.
    void call_host(cudaHostFn_t function, void* data) const;
    /// Throws CudaError when the capture was invalidated.
    bool capturing() const;

    bool operator==(const StreamRef&) const noexcept = default;

private:
    DeviceId device_;
    cudaStream_t handle_;
};

/// The device that a stream belongs to; nullopt for the default streams, which belong to whichever
/// device is current, and before CUDA 12.8. Throws InvalidArgument when the handle is not a stream:
/// CUDA leaves the use of destroyed streams undefined, so that is seen only where it looks.
std::optional<DeviceId> stream_device(cudaStream_t handle);

/// Throws InvalidArgument that says what is wrong unless work can be put on the stream: the handle
/// is no stream, or one of another device. Puts nothing on it.
void check_stream(StreamRef stream);

struct StreamOptions {
    bool blocking = false;  ///< true: ordered with the device's legacy default stream
    int priority = 0;       ///< lower runs first; clamped to what the device knows
};

/// Owns a stream. Destroying it does not wait: work already enqueued still runs. Move-only; a
/// moved-from Stream may only be assigned or destroyed.
class Stream : public StreamRef {
public:
    explicit Stream(DeviceId device, StreamOptions options = {});
    ~Stream();

    Stream(Stream&& other) noexcept;
    Stream& operator=(Stream&& other) noexcept;
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    StreamRef ref() const noexcept { return *this; }

private:
    void destroy() noexcept;

    bool owns_ = false;
};

}  // namespace rondo
