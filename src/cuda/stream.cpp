#include "cuda/stream.hpp"

#include <string>
#include <utility>

#include "cuda/check.hpp"
#include "cuda/device_guard.hpp"
#include "cuda/event.hpp"
#include "rondo/error.hpp"

namespace rondo {

namespace {

cudaStream_t create_stream(DeviceId device, const StreamOptions& options) {
    const DeviceGuard guard(device);
    cudaStream_t handle = nullptr;
    const unsigned flags = options.blocking ? cudaStreamDefault : cudaStreamNonBlocking;
    check(cudaStreamCreateWithPriority(&handle, flags, options.priority),
          "cudaStreamCreateWithPriority");
    return handle;
}

}  // namespace

void StreamRef::synchronize() const {
    const DeviceGuard guard(device_);
    check(cudaStreamSynchronize(handle_), "cudaStreamSynchronize");
}

bool StreamRef::ready() const {
    const DeviceGuard guard(device_);
    const cudaError_t status = cudaStreamQuery(handle_);
    if (status == cudaErrorNotReady) {
        static_cast<void>(cudaGetLastError());
        return false;
    }
    check(status, "cudaStreamQuery");
    return true;
}

void StreamRef::wait(EventRef event) const {
    const DeviceGuard guard(device_);
    check(cudaStreamWaitEvent(handle_, event.get(), cudaEventWaitDefault), "cudaStreamWaitEvent");
}

void StreamRef::call_host(cudaHostFn_t function, void* data) const {
    const DeviceGuard guard(device_);
    check(cudaLaunchHostFunc(handle_, function, data), "cudaLaunchHostFunc");
}

bool StreamRef::capturing() const {
    if (handle_ == nullptr || handle_ == cudaStreamLegacy) {
        return false;  // the default stream can't be captured
    }
    const DeviceGuard guard(device_);
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(handle_, &status), "cudaStreamIsCapturing");
    if (status == cudaStreamCaptureStatusInvalidated) {
        throw_cuda_error(cudaErrorStreamCaptureInvalidated, "cudaStreamIsCapturing",
                         std::source_location::current());
    }
    return status == cudaStreamCaptureStatusActive;
}

namespace {

bool is_default(cudaStream_t handle) {
    return handle == nullptr || handle == cudaStreamLegacy || handle == cudaStreamPerThread;
}

/// The outcome of a call whose only argument is the handle.
void check_handle(cudaError_t status, const char* call) {
    if (status == cudaErrorInvalidResourceHandle || status == cudaErrorContextIsDestroyed ||
        status == cudaErrorInvalidValue) {
        static_cast<void>(cudaGetLastError());
        throw InvalidArgument("the handle is not a stream, or the stream was destroyed");
    }
    check(status, call);
}

}  // namespace

std::optional<DeviceId> stream_device(cudaStream_t handle) {
    if (is_default(handle)) {
        return std::nullopt;
    }
#if CUDART_VERSION >= 12080
    int device = 0;
    check_handle(cudaStreamGetDevice(handle, &device), "cudaStreamGetDevice");
    return DeviceId(device);
#else
    unsigned flags = 0;
    check_handle(cudaStreamGetFlags(handle, &flags), "cudaStreamGetFlags");
    return std::nullopt;
#endif
}

void check_stream(StreamRef stream) {
    const std::optional<DeviceId> device = stream_device(stream.get());
    if (device && *device != stream.device()) {
        throw InvalidArgument("the stream belongs to device " + std::to_string(device->value()) +
                              ", not to device " + std::to_string(stream.device().value()));
    }
}

Stream::Stream(DeviceId device, StreamOptions options)
    : StreamRef(device, create_stream(device, options)), owns_(true) {}

Stream::~Stream() {
    destroy();
}

Stream::Stream(Stream&& other) noexcept
    : StreamRef(other), owns_(std::exchange(other.owns_, false)) {}

Stream& Stream::operator=(Stream&& other) noexcept {
    if (this != &other) {
        destroy();
        StreamRef::operator=(other);
        owns_ = std::exchange(other.owns_, false);
    }
    return *this;
}

void Stream::destroy() noexcept {
    if (std::exchange(owns_, false)) {
        check_noexcept(cudaStreamDestroy(get()), "cudaStreamDestroy", device());
    }
}

}  // namespace rondo
