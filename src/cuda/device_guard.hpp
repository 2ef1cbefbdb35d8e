// Makes a device current for one scope. Internal to src/cuda and to whoever launches kernels:
// objects use it so that their callers never have to.
#pragma once

#include "cuda/device.hpp"

namespace rondo {

/// Makes a device current until the innermost DeviceGuard of the thread ends; there must be one.
/// Throws CudaError naming the device when there is no such device.
void set_current_device(DeviceId device);

/// The current device, for which there must be a DeviceGuard in the thread.
DeviceId current_device();

/// Sets the calling thread's current device and puts the previous one back. Stays in its thread.
/// Guards inside guards cost nothing when the device stays the same: between them nobody but us
/// changes it.
class DeviceGuard {
public:
    /// Throws CudaError naming the device when there is no such device; the current device is
    /// unchanged then.
    explicit DeviceGuard(DeviceId device);
    /// Changes nothing by itself; set_current_device() may, until the guard ends.
    DeviceGuard();
    ~DeviceGuard();

    DeviceGuard(const DeviceGuard&) = delete;
    DeviceGuard& operator=(const DeviceGuard&) = delete;

private:
    int previous_ = 0;
    bool outermost_ = false;
};

}  // namespace rondo
