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

/// `name` and `arguments` with their lengths before them.
inline std::string typed_kernel_name(const char* name, ElementType type, ReduceOp fold,
                                     const char* arguments) {
    return std::string("_ZN5rondo7kernels") + name + "ILNS_11ElementTypeE" +
           std::to_string(static_cast<int>(type)) + "ELNS_8ReduceOpE" +
           std::to_string(static_cast<int>(fold)) + "EEEvNS0_" + arguments + "E";
}

/// rondo::kernels::reduce_kernel<type, fold>(ReduceArguments)
inline std::string reduce_kernel_name(ElementType type, ReduceOp fold) {
    return typed_kernel_name("13reduce_kernel", type, fold, "15ReduceArguments");
}

/// rondo::kernels::program_kernel<type, fold>(ProgramArguments)
inline std::string program_kernel_name(ElementType type, ReduceOp fold) {
    return typed_kernel_name("14program_kernel", type, fold, "16ProgramArguments");
}

}  // namespace rondo::kernels
