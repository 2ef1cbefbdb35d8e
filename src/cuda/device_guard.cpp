#include "cuda/device_guard.hpp"

#include "cuda/check.hpp"

namespace rondo {

void set_current_device(DeviceId device) {
    const cudaError_t status = cudaSetDevice(device.value());
    if (status != cudaSuccess) [[unlikely]] {
        throw_cuda_error(status, "cudaSetDevice(" + std::to_string(device.value()) + ")",
                         std::source_location::current());
    }
}

DeviceGuard::DeviceGuard(DeviceId device) {
    check(cudaGetDevice(&previous_), "cudaGetDevice");
    if (previous_ != device.value()) {
        set_current_device(device);
        changed_ = true;
    }
}

DeviceGuard::~DeviceGuard() {
    if (changed_) {
        check_noexcept(cudaSetDevice(previous_), "cudaSetDevice");
    }
}

}  // namespace rondo
