// What a virtual GPU says about itself.
#include "vgpu/properties.hpp"

#include <cuda_runtime_api.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <string>

namespace vgpu {

namespace {

struct Generation {
    int major, minor;
    int multiprocessors, blocks_per_multiprocessor, threads_per_multiprocessor;
    int shared_per_multiprocessor, shared_optin;
    int l2_bytes, bus_width;
};

// Public figures of the data-centre part of each generation.
constexpr std::array<Generation, 9> generations{{
    {6, 0, 56, 32, 2048, 64 << 10, 48 << 10, 4 << 20, 4096},
    {7, 0, 80, 32, 2048, 96 << 10, 96 << 10, 6 << 20, 4096},
    {7, 5, 40, 16, 1024, 64 << 10, 64 << 10, 4 << 20, 256},
    {8, 0, 108, 32, 2048, 164 << 10, 163 << 10, 40 << 20, 5120},
    {8, 6, 84, 16, 1536, 100 << 10, 99 << 10, 6 << 20, 384},
    {8, 9, 128, 24, 1536, 100 << 10, 99 << 10, 72 << 20, 384},
    {9, 0, 132, 32, 2048, 228 << 10, 227 << 10, 50 << 20, 5120},
    {10, 0, 148, 32, 2048, 228 << 10, 227 << 10, 126 << 20, 8192},
    {12, 0, 188, 24, 1536, 100 << 10, 99 << 10, 128 << 20, 512},
}};

const Generation& generation_of(const rondo::GpuInfo& gpu) {
    const auto found =
        std::find_if(generations.begin(), generations.end(), [&](const Generation& each) {
            return each.major == gpu.compute_major && each.minor == gpu.compute_minor;
        });
    if (found != generations.end()) return *found;
    const auto same_major =
        std::find_if(generations.begin(), generations.end(),
                     [&](const Generation& each) { return each.major == gpu.compute_major; });
    return same_major != generations.end() ? *same_major : generations[1];
}

void fill_limits(cudaDeviceProp& p, const Generation& generation) {
    p.sharedMemPerBlock = 48 << 10;
    p.sharedMemPerBlockOptin = static_cast<std::size_t>(generation.shared_optin);
    p.sharedMemPerMultiprocessor = static_cast<std::size_t>(generation.shared_per_multiprocessor);
    p.reservedSharedMemPerBlock = generation.major >= 8 ? 1024 : 0;
    p.regsPerBlock = 65536;
    p.regsPerMultiprocessor = 65536;
    p.warpSize = 32;
    p.memPitch = 2147483647;
    p.maxThreadsPerBlock = 1024;
    p.maxThreadsDim[0] = 1024;
    p.maxThreadsDim[1] = 1024;
    p.maxThreadsDim[2] = 64;
    p.maxGridSize[0] = 2147483647;
    p.maxGridSize[1] = 65535;
    p.maxGridSize[2] = 65535;
    p.totalConstMem = 65536;
    p.textureAlignment = 512;
    p.texturePitchAlignment = 32;
    p.surfaceAlignment = 512;
    p.maxThreadsPerMultiProcessor = generation.threads_per_multiprocessor;
    p.maxBlocksPerMultiProcessor = generation.blocks_per_multiprocessor;
    p.multiProcessorCount = generation.multiprocessors;
    p.l2CacheSize = generation.l2_bytes;
    p.memoryBusWidth = generation.bus_width;
}

void fill_abilities(cudaDeviceProp& p) {
    p.canMapHostMemory = 1;
    p.concurrentKernels = 1;
    p.ECCEnabled = 1;
    p.asyncEngineCount = 2;
    p.unifiedAddressing = 1;
    p.streamPrioritiesSupported = 1;
    p.globalL1CacheSupported = 1;
    p.localL1CacheSupported = 1;
    p.managedMemory = 1;
    p.concurrentManagedAccess = 1;
    p.computePreemptionSupported = 1;
    p.canUseHostPointerForRegisteredMem = 1;
    p.cooperativeLaunch = 1;
    p.hostRegisterSupported = 1;
    p.memoryPoolsSupported = 1;
}

/// The smallest grid of multiprocessors that holds just so many blocks.
void limit_residency(cudaDeviceProp& p, int blocks) {
    p.multiProcessorCount = std::min(p.multiProcessorCount, blocks);
    p.maxBlocksPerMultiProcessor = std::max(1, blocks / p.multiProcessorCount);
}

}  // namespace

std::string bus_id_of(const rondo::GpuInfo& gpu, int index) {
    return gpu.bus_id.empty() ? fmt::format("0000:{:02x}:00.0", index + 1) : gpu.bus_id;
}

cudaDeviceProp make_properties(const rondo::GpuInfo& gpu, int index, const DevicePlace& place) {
    cudaDeviceProp p{};
    const Generation& generation = generation_of(gpu);
    const std::string name = "vgpu " + (gpu.model.empty() ? std::string("V100") : gpu.model);
    std::strncpy(p.name, name.c_str(), sizeof(p.name) - 1);
    std::memcpy(p.uuid.bytes, "rondo-vgpu", 10);
    p.uuid.bytes[14] = static_cast<char>(index >> 8);
    p.uuid.bytes[15] = static_cast<char>(index);
    p.totalGlobalMem = place.memory;
    p.major = gpu.compute_major > 0 ? gpu.compute_major : generation.major;
    p.minor = gpu.compute_major > 0 ? gpu.compute_minor : generation.minor;
    fill_limits(p, generation);
    fill_abilities(p);
    unsigned domain = 0, bus = 0, slot = 0;
    if (std::sscanf(bus_id_of(gpu, index).c_str(), "%x:%x:%x", &domain, &bus, &slot) == 3) {
        p.pciDomainID = static_cast<int>(domain);
        p.pciBusID = static_cast<int>(bus);
        p.pciDeviceID = static_cast<int>(slot);
    }
#if CUDART_VERSION >= 13000
    p.deviceNumaId = -1;
#endif
    if (place.in_host_memory) {
        p.integrated = 1;
        p.hostNativeAtomicSupported = 1;  // it is one memory
    }
    if (place.resident_blocks > 0) limit_residency(p, place.resident_blocks);
    return p;
}

bool attribute_of(const cudaDeviceProp& p, cudaDeviceAttr attribute, int& value) {
    switch (attribute) {
        case cudaDevAttrMaxThreadsPerBlock:
            value = p.maxThreadsPerBlock;
            return true;
        case cudaDevAttrMaxBlockDimX:
            value = p.maxThreadsDim[0];
            return true;
        case cudaDevAttrMaxBlockDimY:
            value = p.maxThreadsDim[1];
            return true;
        case cudaDevAttrMaxBlockDimZ:
            value = p.maxThreadsDim[2];
            return true;
        case cudaDevAttrMaxGridDimX:
            value = p.maxGridSize[0];
            return true;
        case cudaDevAttrMaxGridDimY:
            value = p.maxGridSize[1];
            return true;
        case cudaDevAttrMaxGridDimZ:
            value = p.maxGridSize[2];
            return true;
        case cudaDevAttrMaxSharedMemoryPerBlock:
            value = static_cast<int>(p.sharedMemPerBlock);
            return true;
        case cudaDevAttrMaxSharedMemoryPerBlockOptin:
            value = static_cast<int>(p.sharedMemPerBlockOptin);
            return true;
        case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
            value = static_cast<int>(p.sharedMemPerMultiprocessor);
            return true;
        case cudaDevAttrReservedSharedMemoryPerBlock:
            value = static_cast<int>(p.reservedSharedMemPerBlock);
            return true;
        case cudaDevAttrTotalConstantMemory:
            value = static_cast<int>(p.totalConstMem);
            return true;
        case cudaDevAttrWarpSize:
            value = p.warpSize;
            return true;
        case cudaDevAttrMaxPitch:
            value = static_cast<int>(p.memPitch);
            return true;
        case cudaDevAttrMaxRegistersPerBlock:
            value = p.regsPerBlock;
            return true;
        case cudaDevAttrMaxRegistersPerMultiprocessor:
            value = p.regsPerMultiprocessor;
            return true;
        case cudaDevAttrClockRate:
            value = clock_rate_khz;
            return true;
        case cudaDevAttrMemoryClockRate:
            value = 1'215'000;
            return true;
        case cudaDevAttrTextureAlignment:
            value = static_cast<int>(p.textureAlignment);
            return true;
        case cudaDevAttrMultiProcessorCount:
            value = p.multiProcessorCount;
            return true;
        case cudaDevAttrKernelExecTimeout:
            value = 0;
            return true;
        case cudaDevAttrIntegrated:
            value = p.integrated;
            return true;
        case cudaDevAttrCanMapHostMemory:
            value = p.canMapHostMemory;
            return true;
        case cudaDevAttrComputeMode:
            value = cudaComputeModeDefault;
            return true;
        case cudaDevAttrConcurrentKernels:
            value = p.concurrentKernels;
            return true;
        case cudaDevAttrEccEnabled:
            value = p.ECCEnabled;
            return true;
        case cudaDevAttrPciBusId:
            value = p.pciBusID;
            return true;
        case cudaDevAttrPciDeviceId:
            value = p.pciDeviceID;
            return true;
        case cudaDevAttrPciDomainId:
            value = p.pciDomainID;
            return true;
        case cudaDevAttrTccDriver:
            value = p.tccDriver;
            return true;
        case cudaDevAttrGlobalMemoryBusWidth:
            value = p.memoryBusWidth;
            return true;
        case cudaDevAttrL2CacheSize:
            value = p.l2CacheSize;
            return true;
        case cudaDevAttrMaxThreadsPerMultiProcessor:
            value = p.maxThreadsPerMultiProcessor;
            return true;
        case cudaDevAttrMaxBlocksPerMultiprocessor:
            value = p.maxBlocksPerMultiProcessor;
            return true;
        case cudaDevAttrAsyncEngineCount:
            value = p.asyncEngineCount;
            return true;
        case cudaDevAttrUnifiedAddressing:
            value = p.unifiedAddressing;
            return true;
        case cudaDevAttrComputeCapabilityMajor:
            value = p.major;
            return true;
        case cudaDevAttrComputeCapabilityMinor:
            value = p.minor;
            return true;
        case cudaDevAttrStreamPrioritiesSupported:
            value = p.streamPrioritiesSupported;
            return true;
        case cudaDevAttrGlobalL1CacheSupported:
            value = p.globalL1CacheSupported;
            return true;
        case cudaDevAttrLocalL1CacheSupported:
            value = p.localL1CacheSupported;
            return true;
        case cudaDevAttrManagedMemory:
            value = p.managedMemory;
            return true;
        case cudaDevAttrIsMultiGpuBoard:
            value = p.isMultiGpuBoard;
            return true;
        case cudaDevAttrMultiGpuBoardGroupID:
            value = p.multiGpuBoardGroupID;
            return true;
        case cudaDevAttrHostNativeAtomicSupported:
            value = p.hostNativeAtomicSupported;
            return true;
        case cudaDevAttrPageableMemoryAccess:
            value = p.pageableMemoryAccess;
            return true;
        case cudaDevAttrConcurrentManagedAccess:
            value = p.concurrentManagedAccess;
            return true;
        case cudaDevAttrComputePreemptionSupported:
            value = p.computePreemptionSupported;
            return true;
        case cudaDevAttrCanUseHostPointerForRegisteredMem:
            value = p.canUseHostPointerForRegisteredMem;
            return true;
        case cudaDevAttrCooperativeLaunch:
            value = p.cooperativeLaunch;
            return true;
        case cudaDevAttrHostRegisterSupported:
            value = p.hostRegisterSupported;
            return true;
        case cudaDevAttrMemoryPoolsSupported:
            value = p.memoryPoolsSupported;
            return true;
        case cudaDevAttrMemoryPoolSupportedHandleTypes:
            value = 0;
            return true;
        case cudaDevAttrGPUDirectRDMASupported:
            value = 0;
            return true;
        case cudaDevAttrClusterLaunch:
            value = p.clusterLaunch;
            return true;
        case cudaDevAttrIpcEventSupport:
            value = 0;
            return true;
        case cudaDevAttrNumaId:
            value = -1;
            return true;
        case cudaDevAttrHostNumaId:
            value = 0;
            return true;
        default:
            return false;
    }
}

}  // namespace vgpu
