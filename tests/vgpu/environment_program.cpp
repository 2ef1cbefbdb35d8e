// What a program sees when the environment asks for a machine that can't be made: two calls and
// their outcomes.
#include <cstdio>

#include <cuda_runtime_api.h>

#include "vgpu/control.hpp"

int main() {
    for (int round = 0; round < 2; ++round) {
        int count = -1;
        const cudaError_t status = cudaGetDeviceCount(&count);
        std::printf("%s %d\n", cudaGetErrorName(status), count);
    }
    std::printf("%s\n", vgpu::last_error_detail().c_str());
    std::printf("text: %s\n", cudaGetErrorString(cudaErrorInitializationError));
    vgpu::reset({.topology = "2"});
    int count = -1;
    const cudaError_t status = cudaGetDeviceCount(&count);
    std::printf("after reset: %s %d, %s\n", cudaGetErrorName(status), count,
                cudaGetErrorString(cudaErrorInitializationError));
}
