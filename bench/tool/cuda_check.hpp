// Calls of the CUDA runtime that must succeed.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "rondo/cuda_error.hpp"

namespace rondo::bench {

inline void check(cudaError_t status, const char* what) {
    if (status != cudaSuccess) {
        throw CudaError(status, std::string(what) + ": " + cudaGetErrorString(status));
    }
}

}  // namespace rondo::bench
