// An inclusive scan of one block (Hillis and Steele), and bitonic sort in shared memory.
#include <algorithm>
#include <vector>

#include "check.hpp"

constexpr int threads = 512;

__global__ void scan(const int* in, int* out) {
    __shared__ int values[2][threads];
    int from = 0;
    values[0][threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    for (int offset = 1; offset < threads; offset *= 2, from ^= 1) {
        int value = values[from][threadIdx.x];
        if (threadIdx.x >= offset) value += values[from][threadIdx.x - offset];
        values[from ^ 1][threadIdx.x] = value;
        __syncthreads();
    }
    out[threadIdx.x] = values[from][threadIdx.x];
}

__global__ void sort(int* data) {
    __shared__ int values[threads];
    const unsigned i = threadIdx.x;
    values[i] = data[i];
    __syncthreads();
    for (unsigned size = 2; size <= threads; size *= 2) {
        for (unsigned stride = size / 2; stride > 0; stride /= 2) {
            const unsigned other = i ^ stride;
            if (other > i) {
                const bool ascending = (i & size) == 0;
                const int a = values[i], b = values[other];
                if ((a > b) == ascending) values[i] = b, values[other] = a;
            }
            __syncthreads();
        }
    }
    data[i] = values[i];
}

int main() {
    std::vector<int> in(threads), out(threads);
    for (int i = 0; i < threads; ++i) in[i] = (i * 7919) % 1009 - 500;
    int *device_in = to_device(in.data(), threads), *device_out = to_device(out.data(), threads);
    scan<<<1, threads>>>(device_in, device_out);
    to_host(out.data(), device_out, threads);
    for (int i = 0, sum = 0; i < threads; ++i) expect_equal(out[i], sum += in[i], "scan", i);
    sort<<<1, threads>>>(device_in);
    to_host(out.data(), device_in, threads);
    std::sort(in.begin(), in.end());
    for (int i = 0; i < threads; ++i) expect_equal(out[i], in[i], "sorted", i);
    std::printf("scan_and_sort: right\n");
}
