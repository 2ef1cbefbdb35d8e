// What the CUDA runtime tells about the GPUs: who they are and whose memory they reach.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::detection {

struct CudaGpu {
    std::string bus_id;  ///< lower case, "0000:06:00.0"
    std::string name;
    int compute_major = 0;
    int compute_minor = 0;
    std::uint64_t memory_bytes = 0;
    bool integrated = false;  ///< its memory is the host's
};

struct CudaFacts {
    std::vector<CudaGpu> gpus;
    std::vector<bool> access;   ///< rows of `from`: may its kernels reach the memory of `to`
    std::vector<bool> atomics;  ///< the same with atomic operations, which only NVLink carries
    std::string problem;        ///< why there are no GPUs, if so

    bool reaches(int from, int to) const { return access[from * gpus.size() + to]; }
    bool atomic(int from, int to) const { return atomics[from * gpus.size() + to]; }
};

/// Never throws for what CUDA says; it becomes the problem.
CudaFacts read_cuda();

}  // namespace rondo::detection
