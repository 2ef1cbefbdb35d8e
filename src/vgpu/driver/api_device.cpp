// Initialisation, devices, errors.
#include <array>
#include <cstring>

#include "vgpu/driver/driver.hpp"
#include "vgpu/error_names.hpp"

using namespace vgpu;
using namespace vgpu::driver;

namespace vgpu::driver {

CUresult result_of(cudaError_t error) {
    switch (error) {
        case cudaErrorInvalidConfiguration:
        case cudaErrorInvalidMemcpyDirection:
        case cudaErrorInvalidPitchValue:
        case cudaErrorInvalidHostPointer:
            return CUDA_ERROR_INVALID_VALUE;
        case cudaErrorInvalidSymbol:
            return CUDA_ERROR_NOT_FOUND;
        case cudaErrorInvalidDeviceFunction:
            return CUDA_ERROR_INVALID_HANDLE;
        default:
            return static_cast<CUresult>(error);  // the numbers are the same
    }
}

}  // namespace vgpu::driver

namespace {

/// A text of the driver's own; the runtime's names begin differently.
const char* name_of(CUresult result) {
    switch (result) {
        case CUDA_SUCCESS:
            return "CUDA_SUCCESS";
        case CUDA_ERROR_INVALID_VALUE:
            return "CUDA_ERROR_INVALID_VALUE";
        case CUDA_ERROR_OUT_OF_MEMORY:
            return "CUDA_ERROR_OUT_OF_MEMORY";
        case CUDA_ERROR_NOT_INITIALIZED:
            return "CUDA_ERROR_NOT_INITIALIZED";
        case CUDA_ERROR_NO_DEVICE:
            return "CUDA_ERROR_NO_DEVICE";
        case CUDA_ERROR_INVALID_DEVICE:
            return "CUDA_ERROR_INVALID_DEVICE";
        case CUDA_ERROR_INVALID_IMAGE:
            return "CUDA_ERROR_INVALID_IMAGE";
        case CUDA_ERROR_INVALID_CONTEXT:
            return "CUDA_ERROR_INVALID_CONTEXT";
        case CUDA_ERROR_NO_BINARY_FOR_GPU:
            return "CUDA_ERROR_NO_BINARY_FOR_GPU";
        case CUDA_ERROR_INVALID_PTX:
            return "CUDA_ERROR_INVALID_PTX";
        case CUDA_ERROR_FILE_NOT_FOUND:
            return "CUDA_ERROR_FILE_NOT_FOUND";
        case CUDA_ERROR_INVALID_HANDLE:
            return "CUDA_ERROR_INVALID_HANDLE";
        case CUDA_ERROR_NOT_FOUND:
            return "CUDA_ERROR_NOT_FOUND";
        case CUDA_ERROR_NOT_READY:
            return "CUDA_ERROR_NOT_READY";
        case CUDA_ERROR_ILLEGAL_ADDRESS:
            return "CUDA_ERROR_ILLEGAL_ADDRESS";
        case CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED:
            return "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED";
        case CUDA_ERROR_PEER_ACCESS_NOT_ENABLED:
            return "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED";
        case CUDA_ERROR_ASSERT:
            return "CUDA_ERROR_ASSERT";
        case CUDA_ERROR_MISALIGNED_ADDRESS:
            return "CUDA_ERROR_MISALIGNED_ADDRESS";
        case CUDA_ERROR_LAUNCH_FAILED:
            return "CUDA_ERROR_LAUNCH_FAILED";
        case CUDA_ERROR_NOT_PERMITTED:
            return "CUDA_ERROR_NOT_PERMITTED";
        case CUDA_ERROR_NOT_SUPPORTED:
            return "CUDA_ERROR_NOT_SUPPORTED";
        case CUDA_ERROR_UNKNOWN:
            return "CUDA_ERROR_UNKNOWN";
        default:
            return error_name(static_cast<cudaError_t>(result));
    }
}

/// Attributes that only the driver has.
bool driver_attribute(CUdevice_attribute attribute, int& value) {
    switch (attribute) {
        case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED:
            value = 0;
            return true;
        case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR:
        case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS:
            value = 0;
            return true;
        default:
            return false;
    }
}

}  // namespace

#pragma GCC visibility push(default)  // what programs link to
extern "C" {

CUresult CUDAAPI cuInit(unsigned int flags) {
    return without_init([&] {
        require(flags == 0, "Flags must be 0");
        machine();
        set_initialised();
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuDriverGetVersion(int* version) {
    return without_init([&] { return cudaDriverGetVersion(version); });
}

CUresult CUDAAPI cuGetErrorName(CUresult error, const char** text) {
    if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *text = name_of(error);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGetErrorString(CUresult error, const char** text) {
    if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *text = error_text(static_cast<cudaError_t>(error));
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetCount(int* count) {
    return with_init([&] { return cudaGetDeviceCount(count); });
}

CUresult CUDAAPI cuDeviceGet(CUdevice* device, int ordinal) {
    return with_init([&] {
        require(device != nullptr, "device is null");
        *device = device_at(machine(), ordinal).index;
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuDeviceGetName(char* name, int length, CUdevice device) {
    return with_init([&] {
        require(name != nullptr && length > 0, "name is null");
        std::strncpy(name, device_at(machine(), device).properties.name,
                     static_cast<std::size_t>(length));
        name[length - 1] = '\0';
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
    return with_init([&] {
        require(uuid != nullptr, "uuid is null");
        std::memcpy(uuid->bytes, device_at(machine(), device).properties.uuid.bytes,
                    sizeof(uuid->bytes));
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuDeviceTotalMem(size_t* bytes, CUdevice device) {
    return with_init([&] {
        require(bytes != nullptr, "bytes is null");
        *bytes = device_at(machine(), device).memory_limit;
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
    return with_init([&] {
        require(value != nullptr, "pi is null");
        if (driver_attribute(attribute, *value)) return cudaSuccess;
        return cudaDeviceGetAttribute(value, static_cast<cudaDeviceAttr>(attribute), device);
    });
}

CUresult CUDAAPI cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
    return with_init([&] {
        require(major != nullptr && minor != nullptr, "major or minor is null");
        *major = device_at(machine(), device).properties.major;
        *minor = device_at(machine(), device).properties.minor;
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuDeviceGetPCIBusId(char* text, int length, CUdevice device) {
    return with_init([&] { return cudaDeviceGetPCIBusId(text, length, device); });
}

CUresult CUDAAPI cuDeviceGetByPCIBusId(CUdevice* device, const char* text) {
    return with_init([&] { return cudaDeviceGetByPCIBusId(device, text); });
}

CUresult CUDAAPI cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
    return with_init([&] { return cudaDeviceCanAccessPeer(can, device, peer); });
}

CUresult CUDAAPI cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute,
                                         CUdevice source, CUdevice destination) {
    return with_init([&] {
        return cudaDeviceGetP2PAttribute(value, static_cast<cudaDeviceP2PAttr>(attribute), source,
                                         destination);
    });
}

CUresult CUDAAPI cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
    return with_init([&] { return cudaDeviceGetDefaultMemPool(pool, device); });
}

CUresult CUDAAPI cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
    return with_init([&] { return cudaDeviceGetMemPool(pool, device); });
}

CUresult CUDAAPI cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
    return with_init([&] { return cudaDeviceSetMemPool(device, pool); });
}

}  // extern "C"
#pragma GCC visibility pop
