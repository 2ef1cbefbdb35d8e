// How a kernel becomes something that the CUDA runtime can launch: nvcc has seen to it; vgpu must
// be told of the host body.
#pragma once

#include <string>

#include "kernels/platform.hpp"
#if !defined(__CUDACC__)
#include "kernels/host/loops.hpp"
#include "vgpu/kernel.hpp"
#endif

namespace rondo::kernels {

/// The address by which `kernel` is launched. Under g++ the first call registers it with vgpu.
template <class Arguments, void (*kernel)(Arguments)>
const void* publish([[maybe_unused]] const std::string& name) {
    const void* const entry = reinterpret_cast<const void*>(kernel);
#if !defined(__CUDACC__)
    static const std::string lasting_name = name;
    static constexpr std::size_t argument_bytes = sizeof(Arguments);
    static const bool registered = [entry] {
        chosen_isa();  // throws when RONDO_ISA is wrong: here, not in every block
        vgpu::register_kernel(
            entry,
            {.name = lasting_name.c_str(),
             .run = [](void** arguments) { kernel(*static_cast<const Arguments*>(arguments[0])); },
             .argument_sizes = &argument_bytes,
             .argument_count = 1,
             .max_threads_per_block = max_block_threads});
        return true;
    }();
    static_cast<void>(registered);
#endif
    return entry;
}

}  // namespace rondo::kernels
