// Primary contexts, contexts, the threads' current ones, peer access.
#include "vgpu/driver/driver.hpp"

using namespace vgpu;
using namespace vgpu::driver;

namespace {

CUresult create_context(CUcontext* handle, unsigned flags, CUdevice device) {
    return with_init([&] {
        require(handle != nullptr, "pctx is null");
        require_healthy(device_at(machine(), device));
        Context* const context = make_context(device, flags);
        push_context(*context);
        *handle = handle_of(context);
        return cudaSuccess;
    });
}

}  // namespace

#pragma GCC visibility push(default)  // what programs link to
extern "C" {

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext* handle, CUdevice device) {
    return with_init([&] {
        require(handle != nullptr, "pctx is null");
        require_healthy(device_at(machine(), device));
        Context& context = primary_context(device);
        ++context.retained;
        *handle = handle_of(&context);
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice device) {
    return with_init([&] {
        device_at(machine(), device);
        Context& context = primary_context(device);
        if (context.retained == 0)
            throw ApiError{cudaErrorDeviceUninitialized, "the primary context is not retained"};
        --context.retained;
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuDevicePrimaryCtxReset(CUdevice device) {
    return with_init([&] {
        device_at(machine(), device);
        const DeviceScope scope(device);
        return cudaDeviceReset();
    });
}

CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice device, unsigned int* flags, int* active) {
    return with_init([&] {
        require(flags != nullptr && active != nullptr, "flags or active is null");
        device_at(machine(), device);
        const Context& context = primary_context(device);
        *flags = context.flags;
        *active = context.retained > 0 || this_thread().runtime_used;
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags) {
    return with_init([&] {
        device_at(machine(), device);
        primary_context(device).flags = flags;
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuCtxCreate_v2(CUcontext* handle, unsigned int flags, CUdevice device) {
    return create_context(handle, flags, device);
}

#if CUDA_VERSION >= 13000
CUresult CUDAAPI cuCtxCreate(CUcontext* handle, CUctxCreateParams* parameters, unsigned int flags,
                             CUdevice device) {
    if (parameters != nullptr &&
        (parameters->numExecAffinityParams != 0 || parameters->cigParams != nullptr))
        return CUDA_ERROR_NOT_SUPPORTED;
    return create_context(handle, flags, device);
}
#endif

CUresult CUDAAPI cuCtxDestroy(CUcontext handle) {
    return with_init([&] {
        destroy_context(handle);
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuCtxPushCurrent(CUcontext handle) {
    return with_init([&] {
        push_context(context_at(handle));
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuCtxPopCurrent(CUcontext* handle) {
    return with_context([&] {
        Context* const top = pop_context();
        if (handle != nullptr) *handle = handle_of(top);
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext handle) {
    return with_init([&] {
        replace_context(handle == nullptr ? nullptr : &context_at(handle));
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext* handle) {
    return with_init([&] {
        require(handle != nullptr, "pctx is null");
        *handle = handle_of(current_context());
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice* device) {
    return with_context([&] {
        require(device != nullptr, "device is null");
        *device = current_context()->device;
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuCtxGetId(CUcontext handle, unsigned long long* id) {
    return with_context([&] {
        require(id != nullptr, "ctxId is null");
        *id = (handle == nullptr ? *current_context() : context_at(handle)).id;
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuCtxGetFlags(unsigned int* flags) {
    return with_context([&] {
        require(flags != nullptr, "flags is null");
        *flags = current_context()->flags;
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuCtxGetApiVersion(CUcontext handle, unsigned int* version) {
    return with_init([&] {
        require(version != nullptr, "version is null");
        if (handle != nullptr) context_at(handle);
        *version = CUDA_VERSION;
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuCtxSynchronize() {
    return with_context([] { return cudaDeviceSynchronize(); });
}

CUresult CUDAAPI cuCtxGetStreamPriorityRange(int* least, int* greatest) {
    return with_context([&] { return cudaDeviceGetStreamPriorityRange(least, greatest); });
}

CUresult CUDAAPI cuCtxGetLimit(size_t* value, CUlimit limit) {
    return with_context([&] { return cudaDeviceGetLimit(value, static_cast<cudaLimit>(limit)); });
}

CUresult CUDAAPI cuCtxSetLimit(CUlimit limit, size_t value) {
    return with_context([&] { return cudaDeviceSetLimit(static_cast<cudaLimit>(limit), value); });
}

CUresult CUDAAPI cuCtxGetCacheConfig(CUfunc_cache* config) {
    return with_context([&] {
        require(config != nullptr, "pconfig is null");
        *config = CU_FUNC_CACHE_PREFER_NONE;
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuCtxSetCacheConfig(CUfunc_cache) {
    return with_context([] { return cudaSuccess; });
}

CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
    return with_context([&] { return cudaDeviceEnablePeerAccess(context_at(peer).device, flags); });
}

CUresult CUDAAPI cuCtxDisablePeerAccess(CUcontext peer) {
    return with_context([&] { return cudaDeviceDisablePeerAccess(context_at(peer).device); });
}

CUresult CUDAAPI cuProfilerStart() {
    return with_context([] { return cudaSuccess; });
}

CUresult CUDAAPI cuProfilerStop() {
    return with_context([] { return cudaSuccess; });
}

}  // extern "C"
#pragma GCC visibility pop
