// Checks that launches and graph nodes share.
#pragma once

#include "vgpu/device.hpp"

namespace vgpu {

/// A kernel by its entry; throws cudaErrorInvalidDeviceFunction.
Kernel& kernel_at(const void* entry);
/// Throws what CUDA answers to a launch that the device can't run.
void check_launch(const Device& device, const KernelCommand& launch);
int blocks_per_multiprocessor(const cudaDeviceProp& device, const Kernel& kernel, unsigned threads,
                              std::size_t dynamic_shared);

}  // namespace vgpu
