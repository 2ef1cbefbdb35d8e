// Memory: allocation, host memory, copies, fills, pools, pointer attributes.
#include "vgpu/driver/driver.hpp"

using namespace vgpu;
using namespace vgpu::driver;

namespace {

cudaError_t copy(CUdeviceptr destination, CUdeviceptr source, std::size_t bytes) {
    return cudaMemcpy(pointer_of(destination), pointer_of(source), bytes, cudaMemcpyDefault);
}

CUresult copy_async(const void* source, void* destination, std::size_t bytes, cudaMemcpyKind kind,
                    CUstream stream) {
    return with_context([&] { return cudaMemcpyAsync(destination, source, bytes, kind, stream); });
}

/// Elements of 2 or 4 bytes; the runtime fills bytes only.
CUresult fill(CUdeviceptr destination, unsigned value, std::size_t element_bytes, std::size_t count,
              CUstream stream, bool wait) {
    return with_context([&] {
        Machine& all = machine();
        const auto found = all.memory().find(pointer_of(destination));
        require(found && found->contains(destination, element_bytes * count),
                "the range is not memory that CUDA knows");
        require(destination % element_bytes == 0, "the address is not aligned to the element");
        MemsetCommand command;
        command.destination = static_cast<std::byte*>(pointer_of(destination));
        command.value = value;
        command.element_bytes = element_bytes;
        command.width = count;
        command.pitch = element_bytes * count;
        {
            std::scoped_lock lock(all.scheduler().mutex());
            issue(all, stream_at(all, stream), Command(command));
        }
        return wait ? cudaStreamSynchronize(stream) : cudaSuccess;
    });
}

void store_attribute(CUpointer_attribute attribute, void* result, CUdeviceptr pointer,
                     const std::optional<Allocation>& found) {
    switch (attribute) {
        case CU_POINTER_ATTRIBUTE_CONTEXT:
            *static_cast<CUcontext*>(result) =
                found ? handle_of(&primary_context(found->device)) : nullptr;
            break;
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            *static_cast<CUmemorytype*>(result) =
                found && found->is_host() ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
            break;
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
            *static_cast<CUdeviceptr*>(result) = found ? pointer : 0;
            break;
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
            *static_cast<void**>(result) =
                found && !found->is_device() ? pointer_of(pointer) : nullptr;
            break;
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
            *static_cast<unsigned*>(result) = found && found->kind == MemoryKind::managed;
            break;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            *static_cast<int*>(result) = found ? found->device : cudaInvalidDeviceId;
            break;
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
            *static_cast<CUdeviceptr*>(result) = found ? found->begin : 0;
            break;
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
            *static_cast<std::size_t*>(result) = found ? found->bytes : 0;
            break;
        case CU_POINTER_ATTRIBUTE_MAPPED:
            *static_cast<bool*>(result) = found.has_value();
            break;
        case CU_POINTER_ATTRIBUTE_BUFFER_ID:
            *static_cast<unsigned long long*>(result) = found ? found->begin : 0;
            break;
        case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
            *static_cast<bool*>(result) = found && found->kind == MemoryKind::device;
            break;
        case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
            *static_cast<unsigned long long*>(result) = 0;
            break;
        case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
            *static_cast<bool*>(result) = false;
            break;
        case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
            *static_cast<CUmemoryPool*>(result) = reinterpret_cast<CUmemoryPool>(
                found && found->kind == MemoryKind::pool ? found->pool : nullptr);
            break;
        default:
            throw ApiError{cudaErrorInvalidValue, "the attribute is unknown"};
    }
}

}  // namespace

#pragma GCC visibility push(default)  // what programs link to
extern "C" {

CUresult CUDAAPI cuMemGetInfo(size_t* free, size_t* total) {
    return with_context([&] { return cudaMemGetInfo(free, total); });
}

CUresult CUDAAPI cuMemAlloc(CUdeviceptr* address, size_t bytes) {
    return with_context([&] {
        require(bytes > 0, "bytesize is 0");
        return cudaMalloc(reinterpret_cast<void**>(address), bytes);
    });
}

CUresult CUDAAPI cuMemAllocPitch(CUdeviceptr* address, size_t* pitch, size_t width, size_t height,
                                 unsigned int) {
    return with_context(
        [&] { return cudaMallocPitch(reinterpret_cast<void**>(address), pitch, width, height); });
}

CUresult CUDAAPI cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned int flags) {
    return with_context(
        [&] { return cudaMallocManaged(reinterpret_cast<void**>(address), bytes, flags); });
}

CUresult CUDAAPI cuMemFree(CUdeviceptr address) {
    return with_context([&] { return cudaFree(pointer_of(address)); });
}

CUresult CUDAAPI cuMemGetAddressRange(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
    return with_context([&] {
        const auto found = machine().memory().find(pointer_of(address));
        if (!found) throw ApiError{cudaErrorSymbolNotFound, "no allocation has this address"};
        if (base != nullptr) *base = found->begin;
        if (bytes != nullptr) *bytes = found->bytes;
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuMemAllocHost(void** pointer, size_t bytes) {
    return with_context([&] { return cudaMallocHost(pointer, bytes); });
}

CUresult CUDAAPI cuMemFreeHost(void* pointer) {
    return with_context([&] { return cudaFreeHost(pointer); });
}

CUresult CUDAAPI cuMemHostAlloc(void** pointer, size_t bytes, unsigned int flags) {
    return with_context([&] { return cudaHostAlloc(pointer, bytes, flags); });
}

CUresult CUDAAPI cuMemHostGetDevicePointer(CUdeviceptr* address, void* pointer,
                                           unsigned int flags) {
    return with_context([&] {
        return cudaHostGetDevicePointer(reinterpret_cast<void**>(address), pointer, flags);
    });
}

CUresult CUDAAPI cuMemHostGetFlags(unsigned int* flags, void* pointer) {
    return with_context([&] { return cudaHostGetFlags(flags, pointer); });
}

CUresult CUDAAPI cuMemHostRegister(void* pointer, size_t bytes, unsigned int flags) {
    return with_context([&] { return cudaHostRegister(pointer, bytes, flags); });
}

CUresult CUDAAPI cuMemHostUnregister(void* pointer) {
    return with_context([&] { return cudaHostUnregister(pointer); });
}

CUresult CUDAAPI cuMemcpy(CUdeviceptr destination, CUdeviceptr source, size_t bytes) {
    return with_context([&] { return copy(destination, source, bytes); });
}

CUresult CUDAAPI cuMemcpyHtoD(CUdeviceptr destination, const void* source, size_t bytes) {
    return with_context(
        [&] { return cudaMemcpy(pointer_of(destination), source, bytes, cudaMemcpyHostToDevice); });
}

CUresult CUDAAPI cuMemcpyDtoH(void* destination, CUdeviceptr source, size_t bytes) {
    return with_context(
        [&] { return cudaMemcpy(destination, pointer_of(source), bytes, cudaMemcpyDeviceToHost); });
}

CUresult CUDAAPI cuMemcpyDtoD(CUdeviceptr destination, CUdeviceptr source, size_t bytes) {
    return with_context([&] { return copy(destination, source, bytes); });
}

CUresult CUDAAPI cuMemcpyPeer(CUdeviceptr destination, CUcontext destination_context,
                              CUdeviceptr source, CUcontext source_context, size_t bytes) {
    return with_context([&] {
        return cudaMemcpyPeer(pointer_of(destination), context_at(destination_context).device,
                              pointer_of(source), context_at(source_context).device, bytes);
    });
}

CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr destination, CUdeviceptr source, size_t bytes,
                               CUstream stream) {
    return copy_async(pointer_of(source), pointer_of(destination), bytes, cudaMemcpyDefault,
                      stream);
}

CUresult CUDAAPI cuMemcpyHtoDAsync(CUdeviceptr destination, const void* source, size_t bytes,
                                   CUstream stream) {
    return copy_async(source, pointer_of(destination), bytes, cudaMemcpyHostToDevice, stream);
}

CUresult CUDAAPI cuMemcpyDtoHAsync(void* destination, CUdeviceptr source, size_t bytes,
                                   CUstream stream) {
    return copy_async(pointer_of(source), destination, bytes, cudaMemcpyDeviceToHost, stream);
}

CUresult CUDAAPI cuMemcpyDtoDAsync(CUdeviceptr destination, CUdeviceptr source, size_t bytes,
                                   CUstream stream) {
    return copy_async(pointer_of(source), pointer_of(destination), bytes, cudaMemcpyDefault,
                      stream);
}

CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr destination, CUcontext destination_context,
                                   CUdeviceptr source, CUcontext source_context, size_t bytes,
                                   CUstream stream) {
    return with_context([&] {
        return cudaMemcpyPeerAsync(pointer_of(destination), context_at(destination_context).device,
                                   pointer_of(source), context_at(source_context).device, bytes,
                                   stream);
    });
}

CUresult CUDAAPI cuMemsetD8(CUdeviceptr destination, unsigned char value, size_t count) {
    return with_context([&] { return cudaMemset(pointer_of(destination), value, count); });
}

CUresult CUDAAPI cuMemsetD16(CUdeviceptr destination, unsigned short value, size_t count) {
    return fill(destination, value, 2, count, nullptr, true);
}

CUresult CUDAAPI cuMemsetD32(CUdeviceptr destination, unsigned int value, size_t count) {
    return fill(destination, value, 4, count, nullptr, true);
}

CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr destination, unsigned char value, size_t count,
                                 CUstream stream) {
    return with_context(
        [&] { return cudaMemsetAsync(pointer_of(destination), value, count, stream); });
}

CUresult CUDAAPI cuMemsetD16Async(CUdeviceptr destination, unsigned short value, size_t count,
                                  CUstream stream) {
    return fill(destination, value, 2, count, stream, false);
}

CUresult CUDAAPI cuMemsetD32Async(CUdeviceptr destination, unsigned int value, size_t count,
                                  CUstream stream) {
    return fill(destination, value, 4, count, stream, false);
}

CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
    return with_context(
        [&] { return cudaMallocAsync(reinterpret_cast<void**>(address), bytes, stream); });
}

CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
    return with_context([&] { return cudaFreeAsync(pointer_of(address), stream); });
}

CUresult CUDAAPI cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool pool,
                                         CUstream stream) {
    return with_context([&] {
        return cudaMallocFromPoolAsync(reinterpret_cast<void**>(address), bytes, pool, stream);
    });
}

CUresult CUDAAPI cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
    return with_init([&] {
        static_assert(sizeof(CUmemPoolProps) == sizeof(cudaMemPoolProps));
        return cudaMemPoolCreate(pool, reinterpret_cast<const cudaMemPoolProps*>(properties));
    });
}

CUresult CUDAAPI cuMemPoolDestroy(CUmemoryPool pool) {
    return with_init([&] { return cudaMemPoolDestroy(pool); });
}

CUresult CUDAAPI cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) {
    return with_init([&] { return cudaMemPoolTrimTo(pool, keep); });
}

CUresult CUDAAPI cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute,
                                       void* value) {
    return with_init([&] {
        return cudaMemPoolSetAttribute(pool, static_cast<cudaMemPoolAttr>(attribute), value);
    });
}

CUresult CUDAAPI cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute,
                                       void* value) {
    return with_init([&] {
        return cudaMemPoolGetAttribute(pool, static_cast<cudaMemPoolAttr>(attribute), value);
    });
}

CUresult CUDAAPI cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* access,
                                    size_t count) {
    return with_init([&] {
        static_assert(sizeof(CUmemAccessDesc) == sizeof(cudaMemAccessDesc));
        return cudaMemPoolSetAccess(pool, reinterpret_cast<const cudaMemAccessDesc*>(access),
                                    count);
    });
}

CUresult CUDAAPI cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool pool,
                                    CUmemLocation* location) {
    return with_init([&] {
        return cudaMemPoolGetAccess(reinterpret_cast<cudaMemAccessFlags*>(flags), pool,
                                    reinterpret_cast<cudaMemLocation*>(location));
    });
}

CUresult CUDAAPI cuPointerGetAttribute(void* data, CUpointer_attribute attribute,
                                       CUdeviceptr pointer) {
    return with_init([&] {
        require(data != nullptr, "data is null");
        const auto found = machine().memory().find(pointer_of(pointer));
        if (!found) throw ApiError{cudaErrorInvalidValue, "CUDA does not know the address"};
        store_attribute(attribute, data, pointer, found);
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuPointerGetAttributes(unsigned int count, CUpointer_attribute* attributes,
                                        void** data, CUdeviceptr pointer) {
    return with_init([&] {
        require(attributes != nullptr && data != nullptr && count > 0, "an argument is null");
        const auto found = machine().memory().find(pointer_of(pointer));
        for (unsigned i = 0; i < count; ++i)
            store_attribute(attributes[i], data[i], pointer, found);
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuPointerSetAttribute(const void* value, CUpointer_attribute attribute,
                                       CUdeviceptr) {
    return with_init([&] {
        require(value != nullptr, "value is null");
        require(attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, "the attribute can't be set");
        return cudaSuccess;
    });
}

}  // extern "C"
#pragma GCC visibility pop
