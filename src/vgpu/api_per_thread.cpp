// The names that code compiled for per-thread default streams (CUDA_API_PER_THREAD_DEFAULT_STREAM)
// calls.
#include "vgpu/api.hpp"

using vgpu::PerThreadDefault;

#pragma GCC visibility push(default)  // what programs link to
extern "C" {

#define VGPU_PER_THREAD(name, parameters, arguments) \
    cudaError_t CUDARTAPI name parameters;           \
    cudaError_t CUDARTAPI name##_ptsz parameters {   \
        const PerThreadDefault scope;                \
        return name arguments;                       \
    }
#define VGPU_PER_THREAD_BLOCKING(name, parameters, arguments) \
    cudaError_t CUDARTAPI name parameters;                    \
    cudaError_t CUDARTAPI name##_ptds parameters {            \
        const PerThreadDefault scope;                         \
        return name arguments;                                \
    }

VGPU_PER_THREAD_BLOCKING(cudaMemcpy, (void* d, const void* s, size_t n, cudaMemcpyKind k),
                         (d, s, n, k))
VGPU_PER_THREAD_BLOCKING(cudaMemcpy2D,
                         (void* d, size_t dp, const void* s, size_t sp, size_t w, size_t h,
                          cudaMemcpyKind k),
                         (d, dp, s, sp, w, h, k))
VGPU_PER_THREAD_BLOCKING(cudaMemcpy3D, (const cudaMemcpy3DParms* p), (p))
VGPU_PER_THREAD_BLOCKING(cudaMemset, (void* d, int v, size_t n), (d, v, n))
VGPU_PER_THREAD_BLOCKING(cudaMemset2D, (void* d, size_t p, int v, size_t w, size_t h),
                         (d, p, v, w, h))
VGPU_PER_THREAD(cudaMemcpyAsync,
                (void* d, const void* s, size_t n, cudaMemcpyKind k, cudaStream_t t),
                (d, s, n, k, t))
VGPU_PER_THREAD(cudaMemcpy2DAsync,
                (void* d, size_t dp, const void* s, size_t sp, size_t w, size_t h, cudaMemcpyKind k,
                 cudaStream_t t),
                (d, dp, s, sp, w, h, k, t))
VGPU_PER_THREAD(cudaMemcpy3DAsync, (const cudaMemcpy3DParms* p, cudaStream_t t), (p, t))
VGPU_PER_THREAD(cudaMemsetAsync, (void* d, int v, size_t n, cudaStream_t t), (d, v, n, t))
VGPU_PER_THREAD(cudaMemset2DAsync, (void* d, size_t p, int v, size_t w, size_t h, cudaStream_t t),
                (d, p, v, w, h, t))
VGPU_PER_THREAD(cudaStreamQuery, (cudaStream_t t), (t))
VGPU_PER_THREAD(cudaStreamSynchronize, (cudaStream_t t), (t))
VGPU_PER_THREAD(cudaStreamGetFlags, (cudaStream_t t, unsigned int* f), (t, f))
VGPU_PER_THREAD(cudaStreamGetId, (cudaStream_t t, unsigned long long* i), (t, i))
VGPU_PER_THREAD(cudaStreamGetPriority, (cudaStream_t t, int* p), (t, p))
VGPU_PER_THREAD(cudaStreamGetDevice, (cudaStream_t t, int* d), (t, d))
VGPU_PER_THREAD(cudaStreamWaitEvent, (cudaStream_t t, cudaEvent_t e, unsigned int f), (t, e, f))
VGPU_PER_THREAD(cudaStreamAddCallback,
                (cudaStream_t t, cudaStreamCallback_t c, void* u, unsigned int f), (t, c, u, f))
VGPU_PER_THREAD(cudaStreamBeginCapture, (cudaStream_t t, cudaStreamCaptureMode m), (t, m))
VGPU_PER_THREAD(cudaStreamEndCapture, (cudaStream_t t, cudaGraph_t* g), (t, g))
VGPU_PER_THREAD(cudaStreamIsCapturing, (cudaStream_t t, cudaStreamCaptureStatus* s), (t, s))
VGPU_PER_THREAD(cudaEventRecord, (cudaEvent_t e, cudaStream_t t), (e, t))
VGPU_PER_THREAD(cudaEventRecordWithFlags, (cudaEvent_t e, cudaStream_t t, unsigned int f),
                (e, t, f))
VGPU_PER_THREAD(cudaLaunchKernel,
                (const void* f, dim3 g, dim3 b, void** a, size_t s, cudaStream_t t),
                (f, g, b, a, s, t))
VGPU_PER_THREAD(cudaLaunchCooperativeKernel,
                (const void* f, dim3 g, dim3 b, void** a, size_t s, cudaStream_t t),
                (f, g, b, a, s, t))
VGPU_PER_THREAD(cudaLaunchKernelExC, (const cudaLaunchConfig_t* c, const void* f, void** a),
                (c, f, a))
VGPU_PER_THREAD(cudaLaunchHostFunc, (cudaStream_t t, cudaHostFn_t f, void* u), (t, f, u))
VGPU_PER_THREAD(cudaMallocAsync, (void** p, size_t n, cudaStream_t t), (p, n, t))
VGPU_PER_THREAD(cudaMallocFromPoolAsync, (void** p, size_t n, cudaMemPool_t m, cudaStream_t t),
                (p, n, m, t))
VGPU_PER_THREAD(cudaFreeAsync, (void* p, cudaStream_t t), (p, t))
VGPU_PER_THREAD(cudaGraphLaunch, (cudaGraphExec_t g, cudaStream_t t), (g, t))
VGPU_PER_THREAD(cudaGraphUpload, (cudaGraphExec_t g, cudaStream_t t), (g, t))
VGPU_PER_THREAD(cudaGetDriverEntryPointByVersion,
                (const char* s, void** f, unsigned v, unsigned long long g,
                 cudaDriverEntryPointQueryResult* r),
                (s, f, v, g, r))

#undef VGPU_PER_THREAD
#undef VGPU_PER_THREAD_BLOCKING

}  // extern "C"
#pragma GCC visibility pop
