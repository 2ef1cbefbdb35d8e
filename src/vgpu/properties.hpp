// The cudaDeviceProp of a virtual GPU.
#pragma once

#include <driver_types.h>

#include <cstddef>

#include "topology/graph/topology.hpp"

namespace vgpu {

/// Of every device, whatever its model.
inline constexpr int clock_rate_khz = 1'410'000;

/// What a device has beside its model.
struct DevicePlace {
    std::size_t memory = 0;
    bool in_host_memory = false;  ///< it shares the host's memory, and says that it is integrated
    int resident_blocks = 0;      ///< how many blocks it holds at once; 0: as many as the model
};

/// Properties like those of the named model (V100 if unknown). With resident_blocks it shows that
/// many multiprocessors of one block each (or more if needed).
cudaDeviceProp make_properties(const rondo::GpuInfo& gpu, int index, const DevicePlace& place);

/// The PCI bus id of a device, made up when the topology has none.
std::string bus_id_of(const rondo::GpuInfo& gpu, int index);

/// The value cudaDeviceGetAttribute gives; false when the attribute is unknown.
bool attribute_of(const cudaDeviceProp& properties, cudaDeviceAttr attribute, int& value);

}  // namespace vgpu
