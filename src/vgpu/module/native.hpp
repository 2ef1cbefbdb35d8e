// Which engine runs a kernel of device code.
#pragma once

#include <optional>
#include <string>

#include "vgpu/kernel.hpp"

namespace vgpu {

/// The host body that was registered under the kernel's mangled name; none when the kernel is to
/// run from its PTX. Throws ApiError when the engine is native and there is none.
std::optional<KernelDescription> native_body(const std::string& name);
/// Compute capability of the calling thread's device: 90 is 9.0.
int architecture_of_this_thread();
/// To stderr: programs seldom print more than an error's number.
void print_refusal(const std::string& name, const std::string& reason);

}  // namespace vgpu
