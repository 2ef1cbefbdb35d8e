// Turns CUDA status codes into exceptions, or into a line of log where nothing may be thrown.
#pragma once

#include <optional>
#include <source_location>
#include <string>
#include <string_view>

#include <cuda_runtime_api.h>

#include "cuda/device.hpp"
#include "rondo/cuda_error.hpp"

namespace rondo {

/// The device that a failed call was for, where that is not the calling thread's current one.
using FailedDevice = std::optional<DeviceId>;

/// "cudaMalloc: cudaErrorMemoryAllocation (out of memory) at memory.cpp:12, device 3". Without a
/// device it is the calling thread's current one.
std::string describe_failure(cudaError_t status, std::string_view what,
                             const std::source_location& where, FailedDevice device = {});

/// Throws CudaError with that description. The thread's last error is reset first: the exception
/// carries it now, and a later cudaGetLastError() must not find it again.
[[noreturn]] void throw_cuda_error(cudaError_t status, std::string_view what,
                                   const std::source_location& where, FailedDevice device = {});

/// Writes that description to stderr and resets the last error. For destructors. An error that
/// breaks a device (an illegal address, say) is written once, not for every object of the device.
void log_cuda_error(cudaError_t status, std::string_view what,
                    const std::source_location& where = std::source_location::current(),
                    FailedDevice device = {}) noexcept;

/// Throws CudaError unless `status` is cudaSuccess. `what` names the call in the message.
inline void check(cudaError_t status, std::string_view what = "CUDA call",
                  const std::source_location& where = std::source_location::current()) {
    if (status != cudaSuccess) [[unlikely]] {
        throw_cuda_error(status, what, where);
    }
}

/// For a call that names its device, or an object of it, instead of using the current one.
inline void check(cudaError_t status, std::string_view what, DeviceId device,
                  const std::source_location& where = std::source_location::current()) {
    if (status != cudaSuccess) [[unlikely]] {
        throw_cuda_error(status, what, where, device);
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
inline void check_noexcept(
    cudaError_t status, std::string_view what, DeviceId device,
    const std::source_location& where = std::source_location::current()) noexcept {
    if (status != cudaSuccess) [[unlikely]] {
        log_cuda_error(status, what, where, device);
    }
}

}  // namespace rondo
