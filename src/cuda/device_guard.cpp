#include "cuda/device_guard.hpp"

#include "cuda/check.hpp"

namespace rondo {
namespace {

constexpr int no_guard = -1;

/// The current device while a guard lives in the thread.
thread_local int guarded = no_guard;

}  // namespace

void set_current_device(DeviceId device) {
    if (guarded == device.value()) {
        return;
    }
    const cudaError_t status = cudaSetDevice(device.value());
    if (status != cudaSuccess) [[unlikely]] {
        throw_cuda_error(status, "cudaSetDevice(" + std::to_string(device.value()) + ")",
                         std::source_location::current());
    }
    guarded = device.value();
}

DeviceId current_device() {
    return DeviceId(guarded);
}

DeviceGuard::DeviceGuard() : previous_(guarded), outermost_(guarded == no_guard) {
    if (outermost_) {
        check(cudaGetDevice(&previous_), "cudaGetDevice");
        guarded = previous_;
    }
}

DeviceGuard::DeviceGuard(DeviceId device) : DeviceGuard() {
    set_current_device(device);  // when it throws, the destructor runs
}

DeviceGuard::~DeviceGuard() {
    if (guarded != previous_) {
        check_noexcept(cudaSetDevice(previous_), "cudaSetDevice");
    }
    guarded = outermost_ ? no_guard : previous_;
}

}  // namespace rondo
