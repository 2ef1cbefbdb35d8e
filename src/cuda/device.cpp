#include "cuda/device.hpp"

#include <array>

#include "cuda/check.hpp"
#include "cuda/device_guard.hpp"

namespace rondo {

int device_count() {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver) {
        static_cast<void>(cudaGetLastError());
        return 0;
    }
    check(status, "cudaGetDeviceCount");
    return count;
}

std::vector<DeviceId> all_devices() {
    std::vector<DeviceId> devices;
    const int count = device_count();
    for (int index = 0; index < count; ++index) {
        devices.emplace_back(index);
    }
    return devices;
}

cudaDeviceProp device_properties(DeviceId device) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, device.value()), "cudaGetDeviceProperties", device);
    return properties;
}

int device_attribute(DeviceId device, cudaDeviceAttr attribute) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, attribute, device.value()), "cudaDeviceGetAttribute",
          device);
    return value;
}

std::string device_bus_id(DeviceId device) {
    std::array<char, 32> text{};
    check(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), device.value()),
          "cudaDeviceGetPCIBusId", device);
    return text.data();
}

MemoryInfo device_memory(DeviceId device) {
    const DeviceGuard guard(device);
    MemoryInfo info;
    check(cudaMemGetInfo(&info.free_bytes, &info.total_bytes), "cudaMemGetInfo");
    return info;
}

void synchronize_device(DeviceId device) {
    const DeviceGuard guard(device);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

}  // namespace rondo
