// The cudaDeviceProp of a virtual GPU.
#pragma once

#include <driver_types.h>

#include <cstddef>

#include "topology/graph/topology.hpp"

namespace vgpu {

/// Properties like those of the named model (V100 if unknown). `resident_blocks`, when not 0, is
/// how many blocks the device holds at once: it then shows as that many multiprocessors of one
/// block each (or more if needed).
cudaDeviceProp make_properties(const rondo::GpuInfo& gpu, int index, std::size_t memory,
                               int resident_blocks);

/// The PCI bus id of a device, made up when the topology has none.
std::string bus_id_of(const rondo::GpuInfo& gpu, int index);

/// The value cudaDeviceGetAttribute gives; false when the attribute is unknown.
bool attribute_of(const cudaDeviceProp& properties, cudaDeviceAttr attribute, int& value);

}  // namespace vgpu
