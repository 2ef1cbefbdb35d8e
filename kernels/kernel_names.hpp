// The mangled names of the kernels: how vgpu finds the host body of a kernel that a program
// compiled by nvcc launches.
#pragma once

#include <string>

#include "rondo/types.hpp"

namespace rondo::kernels {

inline constexpr const char* copy_kernel_name =
    "_ZN5rondo7kernels11copy_kernelENS0_13CopyArgumentsE";
inline constexpr const char* barrier_kernel_name =
    "_ZN5rondo7kernels14barrier_kernelENS0_16BarrierArgumentsE";

/// rondo::kernels::reduce_kernel<type, fold>(ReduceArguments)
inline std::string reduce_kernel_name(ElementType type, ReduceOp fold) {
    return "_ZN5rondo7kernels13reduce_kernelILNS_11ElementTypeE" +
           std::to_string(static_cast<int>(type)) + "ELNS_8ReduceOpE" +
           std::to_string(static_cast<int>(fold)) + "EEEvNS0_15ReduceArgumentsE";
}

}  // namespace rondo::kernels
