// Memory: device, pinned, managed and registered; pointer attributes; memory info. Pools are in
// api_pool.cpp.
#include <fmt/format.h>

#include <algorithm>

#include "vgpu/api.hpp"

using namespace vgpu;

namespace {

constexpr std::size_t pitch_unit = 512;

void forbid_capture(Machine& machine) {
    if (machine.captures.load(std::memory_order_relaxed) == 0) return;
    std::scoped_lock lock(machine.scheduler().mutex());
    forbid_while_capturing(machine);
}

void* allocate(Machine& machine, const Allocation& what) {
    const bool poison = machine.options().hostile && what.bytes <= (std::size_t{16} << 20);
    void* memory = machine.memory().allocate(what, poison);
    if (memory == nullptr) {
        throw ApiError{cudaErrorMemoryAllocation,
                       fmt::format("the host has no {} bytes left", what.bytes)};
    }
    count_allocation(machine);
    return memory;
}

/// Device-side memory that counts against the limit.
void* allocate_on(Machine& machine, Device& device, std::size_t bytes, MemoryKind kind) {
    if (bytes == 0) return nullptr;
    may_synchronise(machine, device);
    require_healthy(device);
    reserve_memory(device, bytes);
    try {
        return allocate(machine, {.bytes = bytes, .kind = kind, .device = device.index});
    } catch (...) {
        device.memory_used -= bytes;
        throw;
    }
}

cudaError_t host_allocate(const char* function, void** pointer, std::size_t bytes, unsigned flags) {
    return api(function, [&](Machine& machine) {
        require(pointer != nullptr, "the pointer to store to is null");
        require((flags &
                 ~(cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined)) == 0,
                "flags has unknown bits");
        Device& device = current_device(machine);
        forbid_capture(machine);
        *pointer = nullptr;
        if (bytes == 0) return cudaSuccess;
        may_synchronise_all(machine);
        require_healthy(device);
        *pointer = allocate(machine, {.bytes = bytes,
                                      .kind = MemoryKind::pinned,
                                      .device = device.index,
                                      .host_flags = flags | cudaHostAllocMapped});
        return cudaSuccess;
    });
}

/// cudaFree may be called while kernels still use the memory: it waits for them, on the owning
/// device or, in hostile mode, on all devices, as drivers do when peers have the memory mapped.
void wait_before_free(Machine& machine, int device) {
    may_synchronise_all(machine);
    wait_for_device(machine, machine.device(device));
}

/// Whether kernels of the device could use the address.
bool reachable(Machine& machine, const Allocation& allocation, int device) {
    if (!allocation.is_device() || allocation.device == device) return true;
    if (allocation.kind == MemoryKind::pool)
        return allocation.pool->access[static_cast<std::size_t>(device)].load() != 0;
    return machine.device(device)
               .peer_enabled[static_cast<std::size_t>(allocation.device)]
               .load() != 0;
}

}  // namespace

#pragma GCC visibility push(default)  // what programs link to
extern "C" {

cudaError_t CUDARTAPI cudaMalloc(void** pointer, size_t bytes) {
    return api("cudaMalloc", [&](Machine& machine) {
        require(pointer != nullptr, "devPtr is null");
        Device& device = current_device(machine);
        forbid_capture(machine);
        *pointer = allocate_on(machine, device, bytes, MemoryKind::device);
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
    return api("cudaMallocPitch", [&](Machine& machine) {
        require(pointer != nullptr && pitch != nullptr, "devPtr or pitch is null");
        Device& device = current_device(machine);
        forbid_capture(machine);
        *pitch = (width + pitch_unit - 1) / pitch_unit * pitch_unit;
        *pointer = allocate_on(machine, device, *pitch * height, MemoryKind::device);
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaMallocManaged(void** pointer, size_t bytes, unsigned int flags) {
    return api("cudaMallocManaged", [&](Machine& machine) {
        require(pointer != nullptr, "devPtr is null");
        require(bytes > 0, "size is 0");
        require(flags == cudaMemAttachGlobal || flags == cudaMemAttachHost,
                "flags must be cudaMemAttachGlobal or cudaMemAttachHost");
        Device& device = current_device(machine);
        forbid_capture(machine);
        *pointer = allocate_on(machine, device, bytes, MemoryKind::managed);
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaFree(void* pointer) {
    return api("cudaFree", [&](Machine& machine) {
        current_device(machine);
        forbid_capture(machine);
        if (pointer == nullptr) return cudaSuccess;
        const auto found = machine.memory().find(pointer);
        require(
            found && found->begin == reinterpret_cast<std::uintptr_t>(pointer) && !found->is_host(),
            "devPtr was not returned by cudaMalloc, or was freed before");
        wait_before_free(machine, found->device);
        if (found->kind == MemoryKind::pool) {
            note_effect(CallEffect::frees);
            {
                std::scoped_lock lock(machine.scheduler().mutex());
                machine.release_pool_memory(pointer);
            }
            machine.memory().give_back_detached();
            return cudaSuccess;
        }
        require(machine.memory().release(pointer).has_value(),
                "devPtr was freed by another thread at the same time");
        machine.device(found->device).memory_used -= found->bytes;
        count_free(machine);
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaMallocHost(void** pointer, size_t bytes) {
    return host_allocate("cudaMallocHost", pointer, bytes, cudaHostAllocDefault);
}

cudaError_t CUDARTAPI cudaHostAlloc(void** pointer, size_t bytes, unsigned int flags) {
    return host_allocate("cudaHostAlloc", pointer, bytes, flags);
}

cudaError_t CUDARTAPI cudaFreeHost(void* pointer) {
    return api("cudaFreeHost", [&](Machine& machine) {
        current_device(machine);
        forbid_capture(machine);
        if (pointer == nullptr) return cudaSuccess;
        const auto found = machine.memory().find(pointer);
        require(found && found->kind == MemoryKind::pinned &&
                    found->begin == reinterpret_cast<std::uintptr_t>(pointer),
                "ptr was not returned by cudaMallocHost or cudaHostAlloc, or was freed before");
        note_effect(CallEffect::may_synchronise);
        for (int i = 0; i < machine.device_count(); ++i) {
            if (machine.device(i).sticky_error.load() == cudaSuccess)
                wait_for_device(machine, machine.device(i));
        }
        require(machine.memory().release(pointer).has_value(),
                "ptr was freed by another thread at the same time");
        count_free(machine);
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaHostRegister(void* pointer, size_t bytes, unsigned int flags) {
    return api("cudaHostRegister", [&](Machine& machine) {
        require(pointer != nullptr && bytes > 0, "ptr is null or size is 0");
        require((flags & ~(cudaHostRegisterPortable | cudaHostRegisterMapped |
                           cudaHostRegisterIoMemory | cudaHostRegisterReadOnly)) == 0,
                "flags has unknown bits");
        Device& device = current_device(machine);
        forbid_capture(machine);
        may_synchronise_all(machine);
        require_healthy(device);
        const Allocation range{.begin = reinterpret_cast<std::uintptr_t>(pointer),
                               .bytes = bytes,
                               .kind = MemoryKind::registered,
                               .device = device.index,
                               .host_flags = flags | cudaHostRegisterMapped};
        if (!machine.memory().record(range)) {
            throw ApiError{cudaErrorHostMemoryAlreadyRegistered,
                           "part of the range is registered or allocated by CUDA already"};
        }
        count_allocation(machine);
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaHostUnregister(void* pointer) {
    return api("cudaHostUnregister", [&](Machine& machine) {
        current_device(machine);
        const auto found = machine.memory().find(pointer);
        if (!found || found->kind != MemoryKind::registered ||
            found->begin != reinterpret_cast<std::uintptr_t>(pointer)) {
            throw ApiError{cudaErrorHostMemoryNotRegistered,
                           "ptr is not the base of a registered range"};
        }
        may_synchronise_all(machine);
        machine.memory().release(pointer);
        count_free(machine);
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaHostGetDevicePointer(void** device_pointer, void* host_pointer,
                                               unsigned int flags) {
    return api("cudaHostGetDevicePointer", [&](Machine& machine) {
        require(device_pointer != nullptr, "pDevice is null");
        require(flags == 0, "flags must be 0");
        current_device(machine);
        const auto found = machine.memory().find(host_pointer);
        require(found && found->is_host(), "pHost is not pinned or registered host memory");
        *device_pointer = host_pointer;
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaHostGetFlags(unsigned int* flags, void* host_pointer) {
    return api("cudaHostGetFlags", [&](Machine& machine) {
        require(flags != nullptr, "pFlags is null");
        const auto found = machine.memory().find(host_pointer);
        require(found && found->kind == MemoryKind::pinned,
                "pHost was not allocated by cudaHostAlloc");
        *flags = found->host_flags;
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaMemGetInfo(size_t* free, size_t* total) {
    return api("cudaMemGetInfo", [&](Machine& machine) {
        require(free != nullptr && total != nullptr, "free or total is null");
        const Device& device = current_device(machine);
        *total = device.memory_limit;
        *free = device.memory_limit - std::min(device.memory_limit, device.memory_used.load());
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaPointerGetAttributes(cudaPointerAttributes* attributes,
                                               const void* pointer) {
    return api("cudaPointerGetAttributes", [&](Machine& machine) {
        require(attributes != nullptr, "attributes is null");
        void* address = const_cast<void*>(pointer);
        const auto found = machine.memory().find(pointer);
        if (!found) {
            attributes->type = cudaMemoryTypeUnregistered;
            attributes->device = cudaInvalidDeviceId;
            attributes->devicePointer = nullptr;
            attributes->hostPointer = address;
            return cudaSuccess;
        }
        attributes->device = found->device;
        attributes->devicePointer =
            reachable(machine, *found, this_thread().device) ? address : nullptr;
        attributes->type = found->is_host()                     ? cudaMemoryTypeHost
                           : found->kind == MemoryKind::managed ? cudaMemoryTypeManaged
                                                                : cudaMemoryTypeDevice;
        attributes->hostPointer = found->is_device() ? nullptr : address;
        return cudaSuccess;
    });
}

}  // extern "C"
#pragma GCC visibility pop
