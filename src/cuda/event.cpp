#include "cuda/event.hpp"

#include <utility>

#include "cuda/capture_mode.hpp"
#include "cuda/check.hpp"
#include "cuda/device_guard.hpp"

namespace rondo {

namespace {

cudaEvent_t create_event(DeviceId device, const EventOptions& options) {
    const DeviceGuard guard(device);
    unsigned flags = options.timing ? cudaEventDefault : cudaEventDisableTiming;
    if (options.blocking_sync) {
        flags |= cudaEventBlockingSync;
    }
    cudaEvent_t handle = nullptr;
    check(cudaEventCreateWithFlags(&handle, flags), "cudaEventCreateWithFlags");
    return handle;
}

}  // namespace

void EventRef::record(StreamRef stream) const {
    if (stream.device() != device_) {
        throw InvalidArgument("an event of device " + std::to_string(device_.value()) +
                              " can't be recorded in a stream of device " +
                              std::to_string(stream.device().value()));
    }
    const DeviceGuard guard(device_);
    check(cudaEventRecord(handle_, stream.get()), "cudaEventRecord");
}

bool EventRef::ready() const {
    const RelaxedCaptureMode relaxed;
    const cudaError_t status = cudaEventQuery(handle_);
    if (status == cudaErrorNotReady) {
        static_cast<void>(cudaGetLastError());
        return false;
    }
    check(status, "cudaEventQuery", device_);
    return true;
}

void EventRef::synchronize() const {
    const RelaxedCaptureMode relaxed;
    check(cudaEventSynchronize(handle_), "cudaEventSynchronize", device_);
}

float elapsed_milliseconds(EventRef start, EventRef end) {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start.get(), end.get()), "cudaEventElapsedTime",
          start.device());
    return milliseconds;
}

Event::Event(DeviceId device, EventOptions options)
    : EventRef(device, create_event(device, options)), owns_(true) {}

Event::~Event() {
    destroy();
}

Event::Event(Event&& other) noexcept : EventRef(other), owns_(std::exchange(other.owns_, false)) {}

Event& Event::operator=(Event&& other) noexcept {
    if (this != &other) {
        destroy();
        EventRef::operator=(other);
        owns_ = std::exchange(other.owns_, false);
    }
    return *this;
}

void Event::destroy() noexcept {
    if (std::exchange(owns_, false)) {
        check_noexcept(cudaEventDestroy(get()), "cudaEventDestroy", device());
    }
}

}  // namespace rondo
