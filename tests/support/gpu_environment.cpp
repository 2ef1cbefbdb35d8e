// For tests that are linked on NVIDIA's runtime as well: where there are too few GPUs for anything,
// all of them are skipped.
#include <cstdio>
#include <cstdlib>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

namespace {

constexpr int needed = 2;        // GPUs
constexpr int all_skipped = 77;  // SKIP_RETURN_CODE

class GpuEnvironment : public testing::Environment {
    void SetUp() override {
        int count = 0;
        const cudaError_t status = cudaGetDeviceCount(&count);
        if (status == cudaSuccess && count >= needed) return;
        cudaGetLastError();
        std::printf("skipped: all cases: needs %d GPUs, there are %d (%s)\n", needed, count,
                    cudaGetErrorString(status));
        std::fflush(stdout);
        std::_Exit(all_skipped);
    }
};

[[maybe_unused]] const auto* const environment =
    testing::AddGlobalTestEnvironment(new GpuEnvironment);  // GoogleTest owns it

}  // namespace
