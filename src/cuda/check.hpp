// Turns CUDA status codes into exceptions, or into a line of log where nothing may be thrown.
#pragma once

#include <source_location>
#include <string>
#include <string_view>

#include <cuda_runtime_api.h>

#include "rondo/cuda_error.hpp"

namespace rondo {

/// "cudaMalloc: cudaErrorMemoryAllocation (out of memory) at memory.cpp:12, device 3". The device
/// is the calling thread's current one.
std::string describe_failure(cudaError_t status, std::string_view what,
                             const std::source_location& where);

/// Throws CudaError with that description. The thread's last error is reset first: the exception
/// carries it now, and a later cudaGetLastError() must not find it again.
[[noreturn]] void throw_cuda_error(cudaError_t status, std::string_view what,
                                   const std::source_location& where);

/// Writes that description to stderr and resets the last error. For destructors.
void log_cuda_error(cudaError_t status, std::string_view what,
                    const std::source_location& where = std::source_location::current()) noexcept;

/// Throws CudaError unless `status` is cudaSuccess. `what` names the call in the message.
inline void check(cudaError_t status, std::string_view what = "CUDA call",
                  const std::source_location& where = std::source_location::current()) {
    if (status != cudaSuccess) [[unlikely]] {
        throw_cuda_error(status, what, where);
    }
}

/// check() for destructors: logs instead of throwing.
inline void check_noexcept(
    cudaError_t status, std::string_view what,
    const std::source_location& where = std::source_location::current()) noexcept {
    if (status != cudaSuccess) [[unlikely]] {
        log_cuda_error(status, what, where);
    }
}

}  // namespace rondo
