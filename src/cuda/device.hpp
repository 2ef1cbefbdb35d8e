// Which GPUs there are and what they can do. A device is always named; nothing here depends on the
// current one.
#pragma once

#include <compare>
#include <ostream>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

namespace rondo {

/// Index of a device in the machine, as CUDA counts. A type of its own so that it is never mixed up
/// with a rank.
class DeviceId {
public:
    constexpr explicit DeviceId(int value) noexcept : value_(value) {}

    constexpr int value() const noexcept { return value_; }
    constexpr auto operator<=>(const DeviceId&) const noexcept = default;

private:
    int value_;
};

inline std::ostream& operator<<(std::ostream& out, DeviceId device) {
    return out << "device " << device.value();
}

/// Number of devices. Zero when CUDA finds no device or no driver; other failures throw.
int device_count();

/// Devices 0 .. device_count() - 1.
std::vector<DeviceId> all_devices();

/// Everything CUDA knows about the device. Slow (it may ask the driver): ask for one attribute
/// where that is enough.
cudaDeviceProp device_properties(DeviceId device);

int device_attribute(DeviceId device, cudaDeviceAttr attribute);

/// "0000:06:00.0"
std::string device_bus_id(DeviceId device);

struct MemoryInfo {
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
};

MemoryInfo device_memory(DeviceId device);

/// Blocks until all work of the device is done; throws what that work left behind.
void synchronize_device(DeviceId device);

}  // namespace rondo
