// Kernels in many manners, compiled by nvcc for the engine's tests.
#include <cassert>
#include <cstdio>

#include <cuda_fp16.h>

extern "C" {

__global__ void vector_add(const float* a, const float* b, float* c, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

__global__ void block_sum(const int* in, int* out, int n) {
    __shared__ int partial[32];
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += in[i];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < (blockDim.x + 31) / 32 ? partial[threadIdx.x] : 0;
        for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
        if (threadIdx.x == 0) atomicAdd(out, sum);
    }
}

__global__ void histogram(const unsigned char* in, unsigned* bins, int n) {
    extern __shared__ unsigned counts[];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) counts[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&counts[in[i]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], counts[i]);
}

__global__ void matrix_multiply(const double* a, const double* b, double* c, int n) {
    __shared__ double left[8][8], right[8][8];
    const int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    double sum = 0;
    for (int k = 0; k < n; k += 8) {
        left[threadIdx.y][threadIdx.x] = a[y * n + k + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + x];
        __syncthreads();
        for (int i = 0; i < 8; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    c[y * n + x] = sum;
}

__device__ __noinline__ int fibonacci(int n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
__global__ void recursion(int* out) {
    out[threadIdx.x] = fibonacci(threadIdx.x % 13);
}

__device__ __noinline__ int twice(int x) {
    return 2 * x;
}
__device__ __noinline__ int square(int x) {
    return x * x;
}
__device__ __noinline__ int minus(int x) {
    return -x;
}
typedef int (*Unary)(int);
__device__ Unary table[3] = {twice, square, minus};
__global__ void indirect(int* out) {
    out[threadIdx.x] = table[threadIdx.x % 3](threadIdx.x);
}

__global__ void switches(const int* in, int* out) {
    int r = 0;
    switch (in[threadIdx.x]) {
        case 0:
            r = 17 * threadIdx.x;
            break;
        case 1:
            r = 4 + threadIdx.x;
            break;
        case 2:
            r = threadIdx.x ^ 0x55;
            break;
        case 3:
            for (int i = 0; i < (int)threadIdx.x; ++i) r += i * i;
            break;
        case 4:
            r = __popc(threadIdx.x);
            break;
        case 5:
            r = __clz(threadIdx.x);
            break;
        case 6:
            r = __brev(threadIdx.x);
            break;
        case 7:
            r = __ffs(threadIdx.x);
            break;
        default:
            r = -1;
    }
    out[threadIdx.x] = r;
}

__constant__ int factors[4] = {3, 5, 7, 11};
__device__ int total;
__global__ void variables(const int* in) {
    atomicAdd(&total, in[threadIdx.x] * factors[threadIdx.x % 4]);
}

__global__ void local_array(const int* in, int* out, int n) {
    int values[16];
    for (int i = 0; i < 16; ++i) values[i] = in[i] * (threadIdx.x + 1);
    for (int i = 0; i < 16; ++i) {
        for (int k = i + 1; k < 16; ++k) {
            if (values[k] < values[i]) {
                int t = values[i];
                values[i] = values[k];
                values[k] = t;
            }
        }
    }
    out[threadIdx.x] = values[(n + threadIdx.x) % 16];
}

__global__ void say(int number, const char* word) {
    printf("thread %d of block %u: %s %5.2f %lld%%\n", threadIdx.x, blockIdx.x, word, number / 4.0,
           (long long)number << 33);
}
__global__ void check(int limit) {
    assert((int)threadIdx.x < limit);
}

__global__ void three_dimensions(unsigned* out) {
    const unsigned x = blockIdx.x * blockDim.x + threadIdx.x,
                   y = blockIdx.y * blockDim.y + threadIdx.y,
                   z = blockIdx.z * blockDim.z + threadIdx.z;
    out[(z * gridDim.y * blockDim.y + y) * gridDim.x * blockDim.x + x] = x | y << 8 | z << 16;
}

/// A lock that lanes of one warp fight for: each must get it in the end.
__global__ void spin_lock(int* lock, int* counter) {
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            *(volatile int*)counter = *(volatile int*)counter + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}

/// One warp waits for another.
__global__ void hand_over(volatile int* flag, int* out) {
    if (threadIdx.x >= 32) {
        while (*flag == 0) {
        }
        out[threadIdx.x - 32] = 7;
    } else if (threadIdx.x == 0) {
        __threadfence();
        *flag = 1;
    }
}

__global__ void votes(unsigned* out) {
    const unsigned t = threadIdx.x;
    out[t] = __ballot_sync(0xffffffffu, t % 3 == 0);
    out[32 + t] = __match_any_sync(0xffffffffu, t % 5);
    out[64 + t] = __all_sync(0xffffffffu, t < 32) + 2 * __any_sync(0xffffffffu, t > 31);
    if (t % 2 == 0)
        out[96 + t] = __activemask();
    else
        out[96 + t] = __shfl_sync(0xaaaaaaaau, t, 5);
}

__global__ void halves(const __half2* a, const __half2* b, __half2* sum, float* wide) {
    const __half2 x = __hfma2(a[threadIdx.x], b[threadIdx.x], a[threadIdx.x]);
    sum[threadIdx.x] = x;
    wide[threadIdx.x] = __low2float(x) + __high2float(x);
}

__global__ void counted(int* out) {
    const int odd = __syncthreads_count(threadIdx.x % 2 == 1);
    const int all = __syncthreads_and(threadIdx.x < 100);
    const int any = __syncthreads_or(threadIdx.x == 77);
    out[threadIdx.x] = odd * 4 + all * 2 + any;
}

}  // extern "C"
