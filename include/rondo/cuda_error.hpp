// A CUDA error as an exception.
#pragma once

#include <string>

#include <driver_types.h>

#include "rondo/error.hpp"
#include "rondo/export.hpp"

namespace rondo {

/// A call to the CUDA runtime failed. what() has the call, CUDA's name and description of the
/// error, the device, and the place in the source.
class RONDO_API CudaError : public Error {
public:
    CudaError(cudaError_t code, const std::string& text) : Error(text), code_(code) {}

    /// CUDA's error, for example cudaErrorMemoryAllocation.
    cudaError_t code() const noexcept { return code_; }

private:
    cudaError_t code_;
};

}  // namespace rondo
