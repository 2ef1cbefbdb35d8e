// Checks that launches and graph nodes share.
#pragma once

#include <string_view>

#include "vgpu/device.hpp"

namespace vgpu {

/// A kernel by its entry; throws cudaErrorInvalidDeviceFunction.
Kernel& kernel_at(const void* entry);
/// A kernel by the name in its description; null when there is none.
const Kernel* find_kernel_by_name(std::string_view name);

/// Asked for entries that nobody registered: registers the entry and returns true, or knows
/// nothing of it. May throw an ApiError.
using KernelSource = bool (*)(const void* entry);
void set_kernel_source(KernelSource source);

/// Throws what CUDA answers to a launch that the device can't run.
void check_launch(const Device& device, const KernelCommand& launch);
int blocks_per_multiprocessor(const cudaDeviceProp& device, const Kernel& kernel, unsigned threads,
                              std::size_t dynamic_shared);

}  // namespace vgpu
