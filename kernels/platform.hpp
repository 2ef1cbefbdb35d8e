// What differs between nvcc and g++ at the level of the language: how device code is spelt.
#pragma once

#if defined(__CUDACC__)
#define RONDO_DEVICE __device__ __forceinline__
#define RONDO_KERNEL __global__ void __launch_bounds__(512, 1)
#define RONDO_SHARED __shared__
#define RONDO_UNROLL _Pragma("unroll")
#define RONDO_NO_UNROLL _Pragma("unroll 1")
#else
// Always inlined: the files that are compiled once per instruction set must not leave shared copies
// of these functions.
#define RONDO_DEVICE inline __attribute__((always_inline))
#define RONDO_KERNEL void
#define RONDO_SHARED
#define RONDO_UNROLL _Pragma("GCC unroll 32")
#define RONDO_NO_UNROLL _Pragma("GCC unroll 1")
#endif

namespace rondo::kernels {

/// The greatest number of threads that a block of these kernels has. The 1 in the launch bounds
/// above gives each block a whole multiprocessor's registers.
inline constexpr int max_block_threads = 512;

}  // namespace rondo::kernels
