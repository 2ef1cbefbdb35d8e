// Makes a device current for one scope. Internal to src/cuda and to whoever launches kernels:
// objects use it so that their callers never have to.
#pragma once

#include "cuda/device.hpp"

namespace rondo {

/// For good. Throws CudaError naming the device when there is no such device.
void set_current_device(DeviceId device);

/// Sets the calling thread's current device and puts the previous one back. Stays in its thread.
class DeviceGuard {
public:
    /// Throws CudaError naming the device when there is no such device; the current device is
    /// unchanged then.
    explicit DeviceGuard(DeviceId device);
    ~DeviceGuard();

    DeviceGuard(const DeviceGuard&) = delete;
    DeviceGuard& operator=(const DeviceGuard&) = delete;

private:
    int previous_ = 0;
    bool changed_ = false;
};

}  // namespace rondo
