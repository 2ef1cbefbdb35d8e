// Calls of the runtime API that other programs than Rondo make: limits, hints about caches and
// managed memory, the profiler. On virtual GPUs most of them have nothing to do but to check.
#include <cuda_profiler_api.h>

#include <array>
#include <atomic>

#include "vgpu/api.hpp"
#include "vgpu/launch.hpp"

using namespace vgpu;

namespace {

constexpr int limit_count = cudaLimitPersistingL2CacheSize + 1;

/// What CUDA begins with, by cudaLimit.
std::array<std::atomic<std::size_t>, limit_count>& limits() {
    static auto* const values = new std::array<std::atomic<std::size_t>, limit_count>{
        1024, std::size_t{1} << 20, std::size_t{8} << 20, 2, 2048, 128, 0};
    return *values;
}

std::atomic<std::size_t>& limit_at(cudaLimit limit) {
    if (limit < 0 || limit >= limit_count)
        throw ApiError{cudaErrorUnsupportedLimit, "the limit is unknown"};
    return limits()[static_cast<std::size_t>(limit)];
}

void require_managed(Machine& machine, const void* pointer, std::size_t bytes) {
    const auto found = machine.memory().find(pointer);
    require(found && found->kind == MemoryKind::managed &&
                found->contains(reinterpret_cast<std::uintptr_t>(pointer), bytes),
            "the range is not managed memory");
}

}  // namespace

#pragma GCC visibility push(default)  // what programs link to
extern "C" {

cudaError_t CUDARTAPI cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
    return api("cudaDeviceGetLimit", [&](Machine& machine) {
        require(value != nullptr, "pValue is null");
        current_device(machine);
        *value = limit_at(limit);
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaDeviceSetLimit(cudaLimit limit, size_t value) {
    return api("cudaDeviceSetLimit", [&](Machine& machine) {
        current_device(machine);
        limit_at(limit) = value;
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaDeviceGetCacheConfig(cudaFuncCache* config) {
    return api("cudaDeviceGetCacheConfig", [&](Machine& machine) {
        require(config != nullptr, "pCacheConfig is null");
        current_device(machine);
        *config = cudaFuncCachePreferNone;
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaDeviceSetCacheConfig(cudaFuncCache) {
    return api("cudaDeviceSetCacheConfig", [](Machine& machine) {
        current_device(machine);
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaCtxResetPersistingL2Cache() {
    return api("cudaCtxResetPersistingL2Cache", [](Machine& machine) {
        current_device(machine);
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaProfilerStart() {
    return api("cudaProfilerStart", [](Machine&) { return cudaSuccess; });
}

cudaError_t CUDARTAPI cudaProfilerStop() {
    return api("cudaProfilerStop", [](Machine&) { return cudaSuccess; });
}

cudaError_t CUDARTAPI cudaSetValidDevices(int* devices, int count) {
    return api("cudaSetValidDevices", [&](Machine& machine) {
        require(count >= 0 && (devices != nullptr || count == 0), "device_arr is null");
        for (int i = 0; i < count; ++i) device_at(machine, devices[i]);
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaChooseDevice(int* device, const cudaDeviceProp* wanted) {
    return api("cudaChooseDevice", [&](Machine&) {
        require(device != nullptr && wanted != nullptr, "device or prop is null");
        *device = 0;  // they are all alike
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaMalloc3D(cudaPitchedPtr* pitched, cudaExtent extent) {
    if (pitched == nullptr)
        return api("cudaMalloc3D", [](Machine&) { return cudaErrorInvalidValue; });
    pitched->xsize = extent.width;
    pitched->ysize = extent.height;
    return cudaMallocPitch(&pitched->ptr, &pitched->pitch, extent.width,
                           extent.height * extent.depth);
}

cudaError_t CUDARTAPI cudaStreamAttachMemAsync(cudaStream_t, void* pointer, size_t, unsigned) {
    return api("cudaStreamAttachMemAsync", [&](Machine& machine) {
        require_managed(machine, pointer, 1);
        return cudaSuccess;
    });
}

#if CUDART_VERSION >= 13000
cudaError_t CUDARTAPI cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise,
                                    cudaMemLocation) {
    return api("cudaMemAdvise", [&](Machine& machine) {
        require_managed(machine, pointer, bytes);
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaMemPrefetchAsync(const void* pointer, size_t bytes, cudaMemLocation,
                                           unsigned int, cudaStream_t) {
    return api("cudaMemPrefetchAsync", [&](Machine& machine) {
        require_managed(machine, pointer, bytes);
        return cudaSuccess;
    });
}
#endif

}  // extern "C"
#pragma GCC visibility pop
