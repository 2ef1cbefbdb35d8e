// How a C++ function becomes a kernel that vgpu can launch.
//
//     void add_one(float* data);                                        // the body, for one block
//     void run(void** arguments) { add_one(*static_cast<float**>(arguments[0])); }
//     const std::size_t sizes[] = {sizeof(float*)};
//     vgpu::register_kernel(reinterpret_cast<const void*>(&add_one),
//                           {"add_one", &run, sizes, 1});
#pragma once

#include <cstddef>

#include "rondo/export.hpp"

namespace vgpu {

/// What vgpu must know of a kernel. `run` executes one block: it unpacks the argument pointers as
/// cudaLaunchKernel passes them and calls the body; the body finds its place with current_block().
struct KernelDescription {
    const char* name = "";  ///< for reports and faults; must outlive the program
    void (*run)(void** arguments) = nullptr;
    const std::size_t* argument_sizes = nullptr;  ///< bytes of each argument; copied at launch
    std::size_t argument_count = 0;
    int max_threads_per_block = 1024;
    int registers_per_thread = 32;
    std::size_t static_shared_bytes = 0;
    const void* context = nullptr;  ///< not vgpu's: what `run` may want to know
    /// Where the arguments lie when they come in one buffer (the driver API); null: not known.
    const std::size_t* argument_offsets = nullptr;
    int ptx_version = 0;  ///< the architecture that its code is for, 75 is sm_75; 0: the device's
};

/// Makes `entry` (any address that is unique to the kernel, normally the host function itself)
/// launchable with cudaLaunchKernel and friends. Repeating it replaces the description. Thread
/// safe. Kernels survive reset().
RONDO_API void register_kernel(const void* entry, const KernelDescription& description);

}  // namespace vgpu
