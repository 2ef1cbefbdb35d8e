// The error that holds CUDA's own.
#pragma once

#include <string>

#include <driver_types.h>

#include "rondo/error.hpp"
#include "rondo/export.hpp"

namespace rondo {

/// A call of the CUDA runtime failed. The text holds the call, CUDA's name and description of the
/// error, the place in the source and the device.
class RONDO_API CudaError : public Error {
public:
    CudaError(cudaError_t code, const std::string& text) : Error(text), code_(code) {}

    cudaError_t code() const noexcept { return code_; }

private:
    cudaError_t code_;
};

}  // namespace rondo
