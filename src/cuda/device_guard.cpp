#include "cuda/device_guard.hpp"

#include "cuda/check.hpp"

namespace rondo {

constinit thread_local int detail::guarded_device = detail::no_guard;

void detail::switch_device(DeviceId device) {
    const cudaError_t status = cudaSetDevice(device.value());
    if (status != cudaSuccess) [[unlikely]] {
        throw_cuda_error(status, "cudaSetDevice(" + std::to_string(device.value()) + ")",
                         std::source_location::current(), device);
    }
    guarded_device = device.value();
}

void DeviceGuard::begin() {
    check(cudaGetDevice(&previous_), "cudaGetDevice");
    detail::guarded_device = previous_;
}

void DeviceGuard::end() noexcept {
    int current = previous_;
    if (detail::guarded_device != previous_) {
        const cudaError_t status = cudaSetDevice(previous_);
        check_noexcept(status, "cudaSetDevice", DeviceId(previous_));
        if (status != cudaSuccess) current = detail::unknown_device;
    }
    detail::guarded_device = outermost_ ? detail::no_guard : current;
}

}  // namespace rondo
