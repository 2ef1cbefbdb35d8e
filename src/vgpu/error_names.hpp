// Names and texts of CUDA's error codes.
#pragma once

#include <driver_types.h>

namespace vgpu {

/// "cudaErrorInvalidValue"; "unrecognized error code" for others.
const char* error_name(cudaError_t error);
/// A short text in words.
const char* error_text(cudaError_t error);

}  // namespace vgpu
