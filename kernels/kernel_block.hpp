// The executor of the kernels that this compiler makes: CudaBlock under nvcc, HostBlock under g++.
#pragma once

#if defined(__CUDACC__)
#include "kernels/cuda_block.hpp"
#else
#include "kernels/host/host_block.hpp"
#endif

namespace rondo::kernels {

#if defined(__CUDACC__)
using KernelBlock = CudaBlock;
#else
using KernelBlock = HostBlock;
#endif

}  // namespace rondo::kernels
