// Tiles in shared memory, static and dynamic.
#include <vector>

#include "check.hpp"

constexpr int tile = 16;

__global__ void multiply_static(const int* a, const int* b, int* c, int n) {
    __shared__ int tile_a[tile][tile], tile_b[tile][tile];
    const int row = blockIdx.y * tile + threadIdx.y, column = blockIdx.x * tile + threadIdx.x;
    int sum = 0;
    for (int k = 0; k < n; k += tile) {
        tile_a[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
        tile_b[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
        __syncthreads();
        for (int i = 0; i < tile; ++i) sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

__global__ void multiply_dynamic(const int* a, const int* b, int* c, int n) {
    extern __shared__ int tiles[];
    int *tile_a = tiles, *tile_b = tiles + tile * tile;
    const int row = blockIdx.y * tile + threadIdx.y, column = blockIdx.x * tile + threadIdx.x;
    int sum = 0;
    for (int k = 0; k < n; k += tile) {
        tile_a[threadIdx.y * tile + threadIdx.x] = a[row * n + k + threadIdx.x];
        tile_b[threadIdx.y * tile + threadIdx.x] = b[(k + threadIdx.y) * n + column];
        __syncthreads();
        for (int i = 0; i < tile; ++i)
            sum += tile_a[threadIdx.y * tile + i] * tile_b[i * tile + threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

int main() {
    constexpr int n = 48;
    std::vector<int> a(n * n), b(n * n), c(n * n), expected(n * n);
    for (int i = 0; i < n * n; ++i) a[i] = i % 17 - 8, b[i] = i % 13 - 6;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j)
            for (int k = 0; k < n; ++k) expected[i * n + j] += a[i * n + k] * b[k * n + j];
    int *device_a = to_device(a.data(), n * n), *device_b = to_device(b.data(), n * n);
    int* device_c = to_device(c.data(), n * n);
    const dim3 grid(n / tile, n / tile), block(tile, tile);
    multiply_static<<<grid, block>>>(device_a, device_b, device_c, n);
    to_host(c.data(), device_c, n * n);
    for (int i = 0; i < n * n; ++i) expect_equal(c[i], expected[i], "product", i);
    check(cudaMemset(device_c, 0, n * n * sizeof(int)), "cudaMemset");
    multiply_dynamic<<<grid, block, 2 * tile * tile * sizeof(int)>>>(device_a, device_b, device_c,
                                                                     n);
    to_host(c.data(), device_c, n * n);
    for (int i = 0; i < n * n; ++i) expect_equal(c[i], expected[i], "second product", i);
    std::printf("matrix_multiply: right\n");
}
