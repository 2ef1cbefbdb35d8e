// The kernels that a host program can launch: where to find them, and how their scalar arguments
// are made.
#pragma once

#include <cstdint>

#include "kernels/program.hpp"
#include "rondo/types.hpp"

namespace rondo::kernels {

/// A kernel that takes one `Arguments` by value. Valid as long as the program runs.
template <class Arguments>
struct Kernel {
    const void* entry = nullptr;  ///< what cudaLaunchKernel takes
    const char* name = "";        ///< mangled; the same under nvcc and g++
};

/// The kernel that runs programs on a pair. mean has the kernel of sum; give the number of
/// contributions as the divisor. All pairs are supported; throws InvalidArgument when there is no
/// such type or operator.
Kernel<ProgramArguments> find_program_kernel(ElementType type, ReduceOp op);

/// A factor of premul_sum as the kernels take it: a double for f64, a float for all narrower
/// floats, and the value truncated toward zero for integers. Throws InvalidArgument when an integer
/// type can't hold it.
std::uint64_t argument_bits(ElementType type, double value);

}  // namespace rondo::kernels
