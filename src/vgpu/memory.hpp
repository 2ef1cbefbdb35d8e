// Which memory exists, whose it is and who may touch it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "vgpu/control.hpp"

namespace vgpu {

enum class MemoryKind { device, pool, pinned, managed, registered };

/// Stream-ordered memory of one device; other devices reach it only after cudaMemPoolSetAccess.
struct MemoryPool {
    int device = 0;
    std::vector<std::atomic<char>> access;  ///< per device: may read and write
    std::uint64_t release_threshold = 0;
    std::uint64_t used = 0, used_high = 0;
    std::uint64_t reserved = 0,
                  reserved_high = 0;  ///< counts against the device's memory; never less than used
    bool destroyed = false;           ///< goes when its last allocation goes
    bool reuse_follow_event = true, reuse_opportunistic = true, reuse_internal = true;
    bool is_default = false;
};

struct Allocation {
    std::uintptr_t begin = 0;
    std::size_t bytes = 0;
    MemoryKind kind = MemoryKind::device;
    int device = 0;                ///< owner; for host memory the device that was current
    unsigned host_flags = 0;       ///< of cudaHostAlloc or cudaHostRegister
    MemoryPool* pool = nullptr;    ///< for pool memory
    std::size_t mapped_bytes = 0;  ///< what to unmap; 0: allocated with posix_memalign

    bool is_host() const { return kind == MemoryKind::pinned || kind == MemoryKind::registered; }
    /// Lives on a GPU (device or pool memory).
    bool is_device() const { return kind == MemoryKind::device || kind == MemoryKind::pool; }
    bool contains(std::uintptr_t address, std::size_t size) const {
        return address >= begin && size <= bytes && address - begin <= bytes - size;
    }
};

/// All live allocations by address. Thread safe; lookups run side by side.
class MemoryMap {
public:
    ~MemoryMap();

    /// Backs `bytes` (> 0) with memory aligned to 512 bytes (2 MiB and huge pages when large) and
    /// records it. Returns null when the host has no memory left. `poison` fills it with 0xCB.
    void* allocate(Allocation allocation, bool poison);
    /// Records memory that the caller owns. False if it overlaps a recorded range.
    bool record(const Allocation& allocation);
    /// Removes the allocation that begins at `pointer` and gives its memory back (not for
    /// registered memory).
    std::optional<Allocation> release(const void* pointer);
    /// The same without giving the memory back, which takes long: give_back_detached() does.
    std::optional<Allocation> detach(const void* pointer);
    void give_back_detached();
    /// The allocation that contains the byte at `pointer` (or begins there).
    std::optional<Allocation> find(const void* pointer) const;
    std::size_t count() const;
    /// How much of a kind there is.
    LiveMemory live(const std::function<bool(const Allocation&)>& wanted) const;

    /// What is known of an address that is in no allocation: the nearest live one below, or the one
    /// it belonged to.
    std::string explain(const void* pointer) const;
    /// Removes everything of a device (cudaDeviceReset).
    void release_device(int device);

private:
    static void give_back(const Allocation& allocation);
    static void count_change();                             // with the lock held
    std::optional<Allocation> remove(const void* pointer);  // the same

    mutable std::shared_mutex mutex_;
    std::map<std::uintptr_t, Allocation> live_;
    std::vector<Allocation> detached_;
    std::atomic<bool> any_detached_{false};
    std::deque<Allocation> freed_;  // the last few, for use-after-free reports
};

std::string to_string(MemoryKind kind);

/// Grows whenever memory comes or goes, in any machine, or rights to it are taken away: what was
/// found before may be wrong then.
const std::atomic<std::uint64_t>& memory_changes();
void count_memory_change();

}  // namespace vgpu
