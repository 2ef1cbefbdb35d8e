#include "cuda/stream.hpp"

#include <utility>

#include "cuda/check.hpp"
#include "cuda/device_guard.hpp"
#include "cuda/event.hpp"

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
        check_noexcept(cudaStreamDestroy(get()), "cudaStreamDestroy");
    }
}

}  // namespace rondo
