// Chooses what runs a registered kernel: a host body of the same name, or its PTX.
#include <fmt/format.h>

#include "vgpu/api.hpp"
#include "vgpu/launch.hpp"
#include "vgpu/module/program.hpp"

namespace vgpu {

namespace {

bool provide_native(const void* entry, const std::string& name) {
    const Kernel* const body = find_kernel_by_name(name);
    if (body == nullptr) return false;
    register_kernel(entry, body->description);
    return true;
}

}  // namespace

bool provide_program_kernel(const void* entry) {
    ProgramFunction function;
    if (!Program::of_this_process().find_function(entry, function)) return false;
    if (provide_native(entry, function.name)) return true;
    throw ApiError{cudaErrorNoKernelImageForDevice,
                   fmt::format("kernel {} has no host body", function.name)};
}

}  // namespace vgpu
