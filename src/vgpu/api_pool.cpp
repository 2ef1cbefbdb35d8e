// Stream-ordered memory and its pools.
#include <fmt/format.h>

#include <algorithm>

#include "vgpu/api.hpp"

using namespace vgpu;

namespace {

MemoryPool& pool_at(Machine& machine, cudaMemPool_t handle) {
    auto* pool = reinterpret_cast<MemoryPool*>(handle);
    for (int i = 0; i < machine.device_count(); ++i) {
        if (&machine.device(i).default_pool == pool) return *pool;
    }
    require(machine.pools.contains(pool) && !pool->destroyed, "the pool does not exist");
    return *pool;
}

cudaMemPool_t handle_of(MemoryPool* pool) {
    return reinterpret_cast<cudaMemPool_t>(pool);
}

/// Makes room for more bytes: first what the pool has kept, then memory of the device.
void grow(Device& device, MemoryPool& pool, std::uint64_t bytes) {
    if (pool.used + bytes <= pool.reserved) return;
    reserve_memory(device, pool.used + bytes - pool.reserved);
    pool.reserved = pool.used + bytes;
    pool.reserved_high = std::max(pool.reserved_high, pool.reserved);
}

/// Memory is handed out at once: nothing can use it before the stream gets there.
cudaError_t allocate_async(const char* function, void** pointer, std::size_t bytes,
                           cudaMemPool_t handle, cudaStream_t stream_handle) {
    return api(function, [&](Machine& machine) {
        require(pointer != nullptr, "the pointer to store to is null");
        machine.memory().give_back_detached();
        std::unique_lock lock(machine.scheduler().mutex());
        Stream& stream = stream_at(machine, stream_handle);
        forbid_on_capturing(stream);
        MemoryPool& pool =
            handle != nullptr ? pool_at(machine, handle) : *machine.device(stream.device).pool;
        *pointer = nullptr;
        if (bytes == 0) return cudaSuccess;
        grow(machine.device(pool.device), pool, bytes);
        pool.used += bytes;
        lock.unlock();  // memory of the host takes long; the bytes in use keep the pool
        const bool poison = machine.options().hostile && bytes <= (std::size_t{16} << 20);
        *pointer = machine.memory().allocate(
            {.bytes = bytes, .kind = MemoryKind::pool, .device = pool.device, .pool = &pool},
            poison);
        lock.lock();
        if (*pointer == nullptr) {
            machine.return_to_pool(pool, bytes);
            throw ApiError{cudaErrorMemoryAllocation,
                           fmt::format("the host has no {} bytes left", bytes)};
        }
        pool.used_high = std::max(pool.used_high, pool.used);
        count_allocation(machine);
        return cudaSuccess;
    });
}

cudaError_t free_async(const char* function, void* pointer, cudaStream_t stream_handle) {
    return api(function, [&](Machine& machine) {
        machine.memory().give_back_detached();
        std::scoped_lock lock(machine.scheduler().mutex());
        Stream& stream = stream_at(machine, stream_handle);
        const auto found = machine.memory().find(pointer);
        require(found && found->kind == MemoryKind::pool &&
                    found->begin == reinterpret_cast<std::uintptr_t>(pointer),
                "the pointer was not returned by cudaMallocAsync, or was freed before");
        note_effect(CallEffect::frees);
        issue(machine, stream, FreeCommand{pointer});
        return cudaSuccess;
    });
}

/// One attribute of a pool: how it is read and written.
template <class Value>
void transfer(void* user, Value& value, bool write) {
    if (write) {
        value = *static_cast<Value*>(user);
    } else {
        *static_cast<Value*>(user) = value;
    }
}

void transfer_flag(void* user, bool& value, bool write) {
    int number = value ? 1 : 0;
    transfer(user, number, write);
    value = number != 0;
}

void transfer_watermark(void* user, std::uint64_t& high, std::uint64_t current, bool write) {
    if (!write) return transfer(user, high, false);
    require(*static_cast<std::uint64_t*>(user) == 0, "a high watermark can only be reset to 0");
    high = current;
}

cudaError_t pool_attribute(const char* function, cudaMemPool_t handle, cudaMemPoolAttr attribute,
                           void* user, bool write) {
    return api(function, [&](Machine& machine) {
        require(user != nullptr, "value is null");
        std::scoped_lock lock(machine.scheduler().mutex());
        MemoryPool& pool = pool_at(machine, handle);
        switch (attribute) {
            case cudaMemPoolReuseFollowEventDependencies:
                transfer_flag(user, pool.reuse_follow_event, write);
                break;
            case cudaMemPoolReuseAllowOpportunistic:
                transfer_flag(user, pool.reuse_opportunistic, write);
                break;
            case cudaMemPoolReuseAllowInternalDependencies:
                transfer_flag(user, pool.reuse_internal, write);
                break;
            case cudaMemPoolAttrReleaseThreshold:
                transfer(user, pool.release_threshold, write);
                break;
            case cudaMemPoolAttrUsedMemHigh:
                transfer_watermark(user, pool.used_high, pool.used, write);
                break;
            case cudaMemPoolAttrReservedMemHigh:
                transfer_watermark(user, pool.reserved_high, pool.reserved, write);
                break;
            case cudaMemPoolAttrUsedMemCurrent:
            case cudaMemPoolAttrReservedMemCurrent:
                require(!write, "the attribute can't be set");
                transfer(user,
                         attribute == cudaMemPoolAttrUsedMemCurrent ? pool.used : pool.reserved,
                         false);
                break;
            default:
                throw ApiError{cudaErrorInvalidValue, "the attribute is unknown"};
        }
        return cudaSuccess;
    });
}

}  // namespace

#pragma GCC visibility push(default)  // what programs link to
extern "C" {

cudaError_t CUDARTAPI cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
    return allocate_async("cudaMallocAsync", pointer, bytes, nullptr, stream);
}
cudaError_t CUDARTAPI cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool,
                                              cudaStream_t stream) {
    if (pool == nullptr)
        return api("cudaMallocFromPoolAsync", [](Machine&) { return cudaErrorInvalidValue; });
    return allocate_async("cudaMallocFromPoolAsync", pointer, bytes, pool, stream);
}
cudaError_t CUDARTAPI cudaFreeAsync(void* pointer, cudaStream_t stream) {
    return free_async("cudaFreeAsync", pointer, stream);
}

cudaError_t CUDARTAPI cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
    return api("cudaDeviceGetDefaultMemPool", [&](Machine& machine) {
        require(pool != nullptr, "memPool is null");
        *pool = handle_of(&device_at(machine, device).default_pool);
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
    return api("cudaDeviceGetMemPool", [&](Machine& machine) {
        require(pool != nullptr, "memPool is null");
        std::scoped_lock lock(machine.scheduler().mutex());
        *pool = handle_of(device_at(machine, device).pool);
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
    return api("cudaDeviceSetMemPool", [&](Machine& machine) {
        std::scoped_lock lock(machine.scheduler().mutex());
        MemoryPool& chosen = pool_at(machine, pool);
        require(chosen.device == device_at(machine, device).index,
                "the pool lives on another device");
        machine.device(device).pool = &chosen;
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
    return api("cudaMemPoolCreate", [&](Machine& machine) {
        require(pool != nullptr && properties != nullptr, "memPool or poolProps is null");
        require(properties->allocType == cudaMemAllocationTypePinned,
                "allocType must be cudaMemAllocationTypePinned");
        require(properties->location.type == cudaMemLocationTypeDevice,
                "the location must be a device");
        if (properties->handleTypes != cudaMemHandleTypeNone)
            throw ApiError{cudaErrorNotSupported, "pools can't be exported"};
        Device& device = device_at(machine, properties->location.id);
        may_synchronise(machine, device);
        auto made = std::make_unique<MemoryPool>();
        made->device = device.index;
        made->access =
            std::vector<std::atomic<char>>(static_cast<std::size_t>(machine.device_count()));
        made->access[static_cast<std::size_t>(device.index)] = 1;
        std::scoped_lock lock(machine.scheduler().mutex());
        *pool = handle_of(made.get());
        machine.pools.emplace(made.get(), std::move(made));
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaMemPoolDestroy(cudaMemPool_t handle) {
    return api("cudaMemPoolDestroy", [&](Machine& machine) {
        const auto find = [&]() -> MemoryPool& {
            MemoryPool& pool = pool_at(machine, handle);
            require(!pool.is_default, "a default pool can't be destroyed");
            return pool;
        };
        std::unique_lock lock(machine.scheduler().mutex());
        Device& device = machine.device(find().device);
        lock.unlock();
        may_synchronise(machine, device);
        lock.lock();
        MemoryPool& pool = find();
        if (device.pool == &pool) device.pool = &device.default_pool;
        pool.destroyed = true;
        machine.trim_pool(pool, 0);
        if (pool.used == 0) machine.pools.erase(&pool);
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaMemPoolTrimTo(cudaMemPool_t handle, size_t keep) {
    return api("cudaMemPoolTrimTo", [&](Machine& machine) {
        std::scoped_lock lock(machine.scheduler().mutex());
        machine.trim_pool(pool_at(machine, handle), keep);
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute,
                                              void* value) {
    return pool_attribute("cudaMemPoolSetAttribute", pool, attribute, value, true);
}

cudaError_t CUDARTAPI cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute,
                                              void* value) {
    return pool_attribute("cudaMemPoolGetAttribute", pool, attribute, value, false);
}

cudaError_t CUDARTAPI cudaMemPoolSetAccess(cudaMemPool_t handle, const cudaMemAccessDesc* list,
                                           size_t count) {
    return api("cudaMemPoolSetAccess", [&](Machine& machine) {
        require(list != nullptr || count == 0, "descList is null");
        std::scoped_lock lock(machine.scheduler().mutex());
        MemoryPool& pool = pool_at(machine, handle);
        for (const cudaMemAccessDesc& wish : std::span(list, count)) {
            require(wish.location.type == cudaMemLocationTypeDevice,
                    "the location must be a device");
            const int device = device_at(machine, wish.location.id).index;
            const bool grant = wish.flags == cudaMemAccessFlagsProtReadWrite;
            require(grant || wish.flags == cudaMemAccessFlagsProtNone,
                    "flags must be none or read-write");
            require(grant || device != pool.device, "a device can't lose access to its own pool");
            if (grant && device != pool.device && !machine.can_access_peer(device, pool.device)) {
                throw ApiError{
                    cudaErrorInvalidDevice,
                    fmt::format("device {} cannot reach device {}", device, pool.device)};
            }
            pool.access[static_cast<std::size_t>(device)] = grant ? 1 : 0;
        }
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t handle,
                                           cudaMemLocation* location) {
    return api("cudaMemPoolGetAccess", [&](Machine& machine) {
        require(flags != nullptr && location != nullptr, "flags or location is null");
        require(location->type == cudaMemLocationTypeDevice, "the location must be a device");
        std::scoped_lock lock(machine.scheduler().mutex());
        const int device = device_at(machine, location->id).index;
        *flags = pool_at(machine, handle).access[static_cast<std::size_t>(device)] != 0
                     ? cudaMemAccessFlagsProtReadWrite
                     : cudaMemAccessFlagsProtNone;
        return cudaSuccess;
    });
}

}  // extern "C"
#pragma GCC visibility pop
