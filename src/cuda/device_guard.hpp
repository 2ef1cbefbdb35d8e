// Makes a device current for one scope. Internal to src/cuda and to whoever launches kernels:
// objects use it so that their callers never have to.
#pragma once

#include "cuda/device.hpp"

namespace rondo {

namespace detail {
inline constexpr int no_guard = -1;
inline constexpr int unknown_device = -2;  ///< a guard could not put it back
/// The current device while a guard lives in the thread.
extern constinit thread_local int guarded_device;
void switch_device(DeviceId device);
}  // namespace detail

/// Makes a device current until the innermost DeviceGuard of the thread ends; there must be one.
/// Throws CudaError naming the device when there is no such device.
inline void set_current_device(DeviceId device) {
    if (detail::guarded_device != device.value()) {
        detail::switch_device(device);
    }
}

/// The current device, for which there must be a DeviceGuard in the thread.
inline DeviceId current_device() {
    return DeviceId(detail::guarded_device);
}

/// Sets the calling thread's current device and puts the previous one back. Stays in its thread.
/// Guards inside guards cost nothing when the device stays the same: between them nobody but us
/// changes it.
class DeviceGuard {
public:
    /// Throws CudaError naming the device when there is no such device; the current device is
    /// unchanged then.
    explicit DeviceGuard(DeviceId device) : DeviceGuard() {
        set_current_device(device);  // when it throws, the destructor runs
    }
    /// Changes nothing by itself; set_current_device() may, until the guard ends.
    DeviceGuard() : previous_(detail::guarded_device), outermost_(previous_ == detail::no_guard) {
        if (outermost_) {
            begin();
        }
    }
    ~DeviceGuard() {
        if (outermost_ || detail::guarded_device != previous_) {
            end();
        }
    }

    DeviceGuard(const DeviceGuard&) = delete;
    DeviceGuard& operator=(const DeviceGuard&) = delete;

private:
    void begin();
    void end() noexcept;

    int previous_ = 0;
    bool outermost_ = false;
};

}  // namespace rondo
