// Atomics in shared and in global memory.
#include <vector>

#include "check.hpp"

constexpr int bins = 64;

__global__ void histogram(const unsigned char* values, int count, unsigned* result) {
    __shared__ unsigned own[bins];
    if (threadIdx.x < bins) own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        atomicAdd(&own[values[i] % bins], 1u);
    __syncthreads();
    if (threadIdx.x < bins) atomicAdd(&result[threadIdx.x], own[threadIdx.x]);
}

int main() {
    constexpr int count = 30'000;
    std::vector<unsigned char> values(count);
    std::vector<unsigned> expected(bins), result(bins);
    for (int i = 0; i < count; ++i) ++expected[(values[i] = i * i % 251) % bins];
    unsigned char* device_values = to_device(values.data(), count);
    unsigned* device_result = to_device(result.data(), bins);
    histogram<<<6, 128>>>(device_values, count, device_result);
    to_host(result.data(), device_result, bins);
    for (int i = 0; i < bins; ++i) expect_equal(result[i], expected[i], "bin", i);
    std::printf("histogram: right\n");
}
