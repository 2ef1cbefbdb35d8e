// A kernel of the PTX engine as vgpu launches it: block by block, on fibers.
#pragma once

#include <memory>

#include "vgpu/kernel.hpp"
#include "vgpu/ptx/engine.hpp"

namespace vgpu {

class DeviceModule;

/// Lives for ever, as registered kernels do, and keeps the module.
KernelDescription describe_ptx_kernel(std::shared_ptr<DeviceModule> module,
                                      const ptx::Kernel& kernel);

}  // namespace vgpu
