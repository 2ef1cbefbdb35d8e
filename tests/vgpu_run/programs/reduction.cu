// Sums by shuffles within warps, shared memory between them, and one atomic per block.
#include <vector>

#include "check.hpp"

__global__ void sum(const int* values, int count, unsigned long long* result) {
    __shared__ int of_warps[32];
    int mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        mine += values[i];
    for (int offset = 16; offset > 0; offset /= 2) mine += __shfl_down_sync(~0u, mine, offset);
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    mine = threadIdx.x < blockDim.x / 32 ? of_warps[threadIdx.x] : 0;
    for (int offset = 16; offset > 0; offset /= 2) mine += __shfl_xor_sync(~0u, mine, offset);
    if (threadIdx.x == 0) atomicAdd(result, static_cast<unsigned long long>(mine));
}

int main() {
    constexpr int count = 50'001;
    std::vector<int> values(count);
    unsigned long long expected = 0, result = 0;
    for (int i = 0; i < count; ++i) expected += values[i] = i % 101;
    int* device_values = to_device(values.data(), count);
    unsigned long long* device_result = to_device(&result, 1);
    sum<<<8, 256>>>(device_values, count, device_result);
    to_host(&result, device_result, 1);
    expect_equal(result, expected, "sum", 0);
    std::printf("reduction: right\n");
}
