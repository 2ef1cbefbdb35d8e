// c = a + b, with a tail that fills no block; also variables: __device__, __constant__,
// __managed__.
#include <vector>

#include "check.hpp"

__device__ int launches = 40;
__constant__ float factor = 2;
__managed__ unsigned last_index = 0;

__global__ void add(const float* a, const float* b, float* c, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) c[i] = a[i] + factor * b[i];
    if (i == 0) atomicAdd(&launches, 1);
    if (i == count - 1) last_index = i;
}

int main() {
    constexpr int count = 10'007;
    std::vector<float> a(count), b(count), c(count);
    for (int i = 0; i < count; ++i) a[i] = i, b[i] = 2 * i;
    float *device_a = to_device(a.data(), count), *device_b = to_device(b.data(), count);
    float* device_c = to_device(c.data(), count);
    add<<<(count + 255) / 256, 256>>>(device_a, device_b, device_c, count);
    to_host(c.data(), device_c, count);
    for (int i = 0; i < count; ++i) expect_equal<float>(c[i], 5 * i, "sum", i);

    const float three = 3;
    check(cudaMemcpyToSymbol(factor, &three, sizeof(three)), "cudaMemcpyToSymbol");
    add<<<(count + 255) / 256, 256>>>(device_a, device_b, device_c, count);
    to_host(c.data(), device_c, count);
    for (int i = 0; i < count; ++i) expect_equal<float>(c[i], 7 * i, "second sum", i);
    int seen = 0;
    check(cudaMemcpyFromSymbol(&seen, launches, sizeof(seen)), "cudaMemcpyFromSymbol");
    expect_equal(seen, 42, "launches", 0);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    expect_equal(last_index, static_cast<unsigned>(count - 1), "managed variable", 0);

    // Variables are every device's own.
    check(cudaSetDevice(1), "cudaSetDevice");
    check(cudaMemcpyFromSymbol(&seen, launches, sizeof(seen)), "cudaMemcpyFromSymbol");
    expect_equal(seen, 40, "launches of the other device", 0);
    std::printf("vector_add: right\n");
}
