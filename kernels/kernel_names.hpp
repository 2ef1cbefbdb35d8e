// The mangled names of the kernels: how vgpu finds the host body of a kernel that a program
// compiled by nvcc launches.
#pragma once

#include <string>

#include "rondo/types.hpp"

namespace rondo::kernels {

/// rondo::kernels::program_kernel<type, fold>(ProgramArguments)
inline std::string program_kernel_name(ElementType type, ReduceOp fold) {
    return "_ZN5rondo7kernels14program_kernelILNS_11ElementTypeE" +
           std::to_string(static_cast<int>(type)) + "ELNS_8ReduceOpE" +
           std::to_string(static_cast<int>(fold)) + "EEEvNS0_16ProgramArgumentsE";
}

}  // namespace rondo::kernels
