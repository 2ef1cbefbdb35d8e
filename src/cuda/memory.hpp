// Untyped allocation for the buffers: each call names its device and leaves the current one alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "cuda/device.hpp"
#include "cuda/stream.hpp"

namespace rondo::memory {

/// count * element_size; throws InvalidArgument when that is more than a size can hold.
std::size_t bytes_for(std::size_t count, std::size_t element_size);

/// Zero bytes give a null pointer, here and below. Throws CudaError (cudaErrorMemoryAllocation when
/// the device is full).
void* allocate_device(DeviceId device, std::size_t bytes);

/// Host memory that every device may access, with its lifetime tied to `device`.
void* allocate_pinned(DeviceId device, std::size_t bytes);
/// The address under which `device` sees pinned memory.
void* device_pointer(DeviceId device, void* pinned);

/// From the current pool of the stream's device, in stream order.
void* allocate_async(StreamRef stream, std::size_t bytes);

/// Where an allocation lies.
struct MemoryRange {
    std::uintptr_t begin = 0;
    std::size_t bytes = 0;

    /// How many bytes there are from `pointer`, which lies inside, to the end.
    std::size_t bytes_from(const void* pointer) const noexcept {
        return begin + bytes - reinterpret_cast<std::uintptr_t>(pointer);
    }
    bool operator==(const MemoryRange&) const noexcept = default;
};

/// The allocation that `pointer` points into, on a device or pinned; nullopt where CUDA does not
/// tell. Of memory that a program maps itself (cuMemAddressReserve) it is the reserved range, so a
/// buffer that is valid is never larger. There must be a current device; nothing is synchronised,
/// and a capture does not forbid it.
std::optional<MemoryRange> allocation_range(const void* pointer);

// How each kind of memory is given back; failures are logged.

struct FreeDevice {
    DeviceId device;
    void operator()(void* pointer) const noexcept;
};

struct FreePinned {
    DeviceId device;
    void operator()(void* pointer) const noexcept;
};

struct FreeAsync {
    StreamRef stream;
    void operator()(void* pointer) const noexcept;
};

}  // namespace rondo::memory
