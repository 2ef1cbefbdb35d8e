#include "cuda/device_guard.hpp"

#include "cuda/check.hpp"

namespace rondo {

constinit thread_local int detail::guarded_device = detail::no_guard;

void detail::switch_device(DeviceId device) {
    const cudaError_t status = cudaSetDevice(device.value());
    if (status != cudaSuccess) [[unlikely]] {
        throw_cuda_error(status, "cudaSetDevice(" + std::to_string(device.value()) + ")",
                         std::source_location::current());
    }
    guarded_device = device.value();
}

void DeviceGuard::begin() {
    check(cudaGetDevice(&previous_), "cudaGetDevice");
    detail::guarded_device = previous_;
}

void DeviceGuard::end() noexcept {
    if (detail::guarded_device != previous_) {
        check_noexcept(cudaSetDevice(previous_), "cudaSetDevice");
    }
    detail::guarded_device = outermost_ ? detail::no_guard : previous_;
}

}  // namespace rondo
