#include "cuda/memory.hpp"

#include <cuda.h>

#include <array>
#include <atomic>
#include <limits>

#include "cuda/capture_mode.hpp"
#include "cuda/check.hpp"
#include "cuda/device_guard.hpp"

namespace rondo::memory {

namespace {

/// Runs `release` with `device` current. Nothing may escape: a lost device can't be made current.
template <class Release>
void release_on(DeviceId device, std::string_view what, Release release) noexcept {
    try {
        const DeviceGuard guard(device);
        const RelaxedCaptureMode relaxed;
        check_noexcept(release(), what);
    } catch (const CudaError& error) {
        log_cuda_error(error.code(), what, std::source_location::current(), device);
    }
}

std::string with_size(std::string_view call, std::size_t bytes) {
    return std::string(call) + " of " + std::to_string(bytes) + " bytes";
}

}  // namespace

std::size_t bytes_for(std::size_t count, std::size_t element_size) {
    if (count > std::numeric_limits<std::size_t>::max() / element_size) {
        throw InvalidArgument("a buffer of " + std::to_string(count) + " elements of " +
                              std::to_string(element_size) +
                              " bytes is larger than the address space");
    }
    return count * element_size;
}

void* allocate_device(DeviceId device, std::size_t bytes) {
    const DeviceGuard guard(device);
    void* pointer = nullptr;
    if (bytes != 0) {
        const RelaxedCaptureMode relaxed;
        check(cudaMalloc(&pointer, bytes), with_size("cudaMalloc", bytes));
    }
    return pointer;
}

void* allocate_pinned(DeviceId device, std::size_t bytes) {
    const DeviceGuard guard(device);
    void* pointer = nullptr;
    if (bytes != 0) {
        const RelaxedCaptureMode relaxed;
        check(cudaHostAlloc(&pointer, bytes, cudaHostAllocMapped | cudaHostAllocPortable),
              with_size("cudaHostAlloc", bytes));
    }
    return pointer;
}

void* device_pointer(DeviceId device, void* pinned) {
    const DeviceGuard guard(device);
    void* pointer = nullptr;
    if (pinned != nullptr) {
        check(cudaHostGetDevicePointer(&pointer, pinned, 0), "cudaHostGetDevicePointer");
    }
    return pointer;
}

void* allocate_async(StreamRef stream, std::size_t bytes) {
    const DeviceGuard guard(stream.device());
    void* pointer = nullptr;
    if (bytes != 0) {
        check(cudaMallocAsync(&pointer, bytes, stream.get()), with_size("cudaMallocAsync", bytes));
    }
    return pointer;
}

void FreeDevice::operator()(void* pointer) const noexcept {
    release_on(device, "cudaFree", [&] { return cudaFree(pointer); });
}

void FreePinned::operator()(void* pointer) const noexcept {
    release_on(device, "cudaFreeHost", [&] { return cudaFreeHost(pointer); });
}

void FreeAsync::operator()(void* pointer) const noexcept {
    release_on(stream.device(), "cudaFreeAsync",
               [&] { return cudaFreeAsync(pointer, stream.get()); });
}

namespace {

using PointerAttributes = CUresult (*)(unsigned, CUpointer_attribute*, void**, CUdeviceptr);

/// The driver's cuPointerGetAttributes, which the runtime has no name for; null where the driver
/// has none.
PointerAttributes pointer_attributes() {
    static std::atomic<PointerAttributes> known{nullptr};
    if (const PointerAttributes found = known.load(std::memory_order_relaxed)) {
        return found;
    }
    void* entry = nullptr;
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    const cudaError_t status = cudaGetDriverEntryPointByVersion("cuPointerGetAttributes", &entry,
                                                                12000, cudaEnableDefault, &result);
#else
    const cudaError_t status =
        cudaGetDriverEntryPoint("cuPointerGetAttributes", &entry, cudaEnableDefault, &result);
#endif
    if (status != cudaSuccess || result != cudaDriverEntryPointSuccess) {
        static_cast<void>(cudaGetLastError());
        return nullptr;
    }
    known.store(reinterpret_cast<PointerAttributes>(entry), std::memory_order_relaxed);
    return known.load(std::memory_order_relaxed);
}

}  // namespace

std::optional<MemoryRange> allocation_range(const void* pointer) {
    const PointerAttributes ask = pointer_attributes();
    if (ask == nullptr || pointer == nullptr) {
        return std::nullopt;
    }
    MemoryRange range;
    std::array attributes{CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    std::array<void*, 2> answers{&range.begin, &range.bytes};
    const CUresult status = ask(static_cast<unsigned>(attributes.size()), attributes.data(),
                                answers.data(), reinterpret_cast<CUdeviceptr>(pointer));
    if (status != CUDA_SUCCESS || range.bytes == 0) {
        return std::nullopt;
    }
    return range;
}

}  // namespace rondo::memory
