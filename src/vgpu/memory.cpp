// The map of allocations and the host memory behind them.
#include "vgpu/memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace vgpu {

namespace {

constexpr std::size_t small_alignment = 512;
constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t remembered_frees = 256;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool map_large =
    false;  // the sanitizer's allocator puts red zones around what it hands out
#else
constexpr bool map_large = true;
#endif

std::size_t round_up(std::size_t bytes, std::size_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

/// Maps whole huge pages, aligned to their size.
void* map_huge(std::size_t bytes) {
    const std::size_t spare = bytes + huge_page;
    void* base = mmap(nullptr, spare, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return nullptr;
    const auto begin = reinterpret_cast<std::uintptr_t>(base);
    const std::uintptr_t start = round_up(begin, huge_page);
    if (start > begin) munmap(base, start - begin);
    const std::size_t behind = begin + spare - (start + bytes);
    if (behind > 0) munmap(reinterpret_cast<void*>(start + bytes), behind);
    madvise(reinterpret_cast<void*>(start), bytes, MADV_HUGEPAGE);
    return reinterpret_cast<void*>(start);
}

}  // namespace

std::string to_string(MemoryKind kind) {
    switch (kind) {
        case MemoryKind::device:
            return "device memory";
        case MemoryKind::pool:
            return "pool memory";
        case MemoryKind::pinned:
            return "pinned host memory";
        case MemoryKind::managed:
            return "managed memory";
        case MemoryKind::registered:
            return "registered host memory";
    }
    return "memory";
}

MemoryMap::~MemoryMap() {
    count_change();
    for (const auto& [begin, allocation] : live_) give_back(allocation);
    give_back_detached();
}

void* MemoryMap::allocate(Allocation allocation, bool poison) {
    void* memory = nullptr;
    if (map_large && allocation.bytes >= huge_page) {
        allocation.mapped_bytes = round_up(allocation.bytes, huge_page);
        memory = map_huge(allocation.mapped_bytes);
    } else if (posix_memalign(&memory, small_alignment, allocation.bytes) != 0) {
        memory = nullptr;
    }
    if (memory == nullptr) return nullptr;
    if (poison) std::memset(memory, 0xCB, allocation.bytes);
    allocation.begin = reinterpret_cast<std::uintptr_t>(memory);
    std::unique_lock lock(mutex_);
    count_change();
    live_.emplace(allocation.begin, allocation);
    return memory;
}

bool MemoryMap::record(const Allocation& allocation) {
    std::unique_lock lock(mutex_);
    count_change();
    auto next = live_.lower_bound(allocation.begin);
    if (next != live_.end() && next->first < allocation.begin + allocation.bytes) return false;
    if (next != live_.begin() && std::prev(next)->second.contains(allocation.begin, 1))
        return false;
    live_.emplace(allocation.begin, allocation);
    return true;
}

void MemoryMap::give_back(const Allocation& allocation) {
    if (allocation.kind == MemoryKind::registered) return;
    void* memory = reinterpret_cast<void*>(allocation.begin);
    if (allocation.mapped_bytes > 0) {
        munmap(memory, allocation.mapped_bytes);
    } else {
        std::free(memory);
    }
}

std::optional<Allocation> MemoryMap::release(const void* pointer) {
    std::optional<Allocation> allocation;
    {
        std::unique_lock lock(mutex_);
        allocation = remove(pointer);
    }
    if (allocation) give_back(*allocation);
    return allocation;
}

std::optional<Allocation> MemoryMap::detach(const void* pointer) {
    std::unique_lock lock(mutex_);
    const std::optional<Allocation> allocation = remove(pointer);
    if (allocation) {
        detached_.push_back(*allocation);
        any_detached_.store(true, std::memory_order_relaxed);
    }
    return allocation;
}

void MemoryMap::give_back_detached() {
    if (!any_detached_.load(std::memory_order_relaxed)) return;
    std::vector<Allocation> taken;
    {
        std::unique_lock lock(mutex_);
        taken.swap(detached_);
        any_detached_.store(false, std::memory_order_relaxed);
    }
    for (const Allocation& allocation : taken) give_back(allocation);
}

std::optional<Allocation> MemoryMap::remove(const void* pointer) {
    count_change();
    auto found = live_.find(reinterpret_cast<std::uintptr_t>(pointer));
    if (found == live_.end()) return std::nullopt;
    const Allocation allocation = found->second;
    live_.erase(found);
    freed_.push_back(allocation);
    if (freed_.size() > remembered_frees) freed_.pop_front();
    return allocation;
}

namespace {

/// How often any map has changed.
std::atomic<std::uint64_t> changes{1};

/// What a thread found lately, by address; good as long as no map has changed since.
struct Found {
    const MemoryMap* map = nullptr;
    std::uint64_t at = 0;  ///< the changes then
    Allocation allocation;
};

Found& found_lately(std::uintptr_t address) {
    constexpr std::size_t places = 32;
    thread_local std::array<Found, places> all;
    return all[(address / small_alignment) % places];
}

}  // namespace

void MemoryMap::count_change() {
    count_memory_change();
}

const std::atomic<std::uint64_t>& memory_changes() {
    return changes;
}

void count_memory_change() {
    changes.fetch_add(1, std::memory_order_release);
}

std::optional<Allocation> MemoryMap::find(const void* pointer) const {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    Found& known = found_lately(address);
    if (known.map == this && known.at == changes.load(std::memory_order_acquire) &&
        known.allocation.contains(address, 1)) {
        return known.allocation;
    }
    std::shared_lock lock(mutex_);
    auto next = live_.upper_bound(address);
    if (next == live_.begin()) return std::nullopt;
    const Allocation& candidate = std::prev(next)->second;
    if (!candidate.contains(address, 1)) return std::nullopt;
    known = {this, changes.load(std::memory_order_relaxed), candidate};
    return candidate;
}

std::size_t MemoryMap::count() const {
    std::shared_lock lock(mutex_);
    return live_.size();
}

LiveMemory MemoryMap::live(const std::function<bool(const Allocation&)>& wanted) const {
    std::shared_lock lock(mutex_);
    LiveMemory sum;
    for (const auto& [begin, allocation] : live_) {
        if (!wanted(allocation)) continue;
        ++sum.allocations;
        sum.bytes += allocation.bytes;
    }
    return sum;
}

std::string MemoryMap::explain(const void* pointer) const {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    std::shared_lock lock(mutex_);
    for (auto freed = freed_.rbegin(); freed != freed_.rend(); ++freed) {
        if (freed->contains(address, 1)) {
            return fmt::format(
                "freed memory: byte {} of {} bytes of {} of device {} that were freed",
                address - freed->begin, freed->bytes, to_string(freed->kind), freed->device);
        }
    }
    auto next = live_.upper_bound(address);
    if (next == live_.begin()) return "no allocation";
    const Allocation& below = std::prev(next)->second;
    const std::size_t past = address - (below.begin + below.bytes);
    if (past > (std::size_t{1} << 30)) return "no allocation";
    return fmt::format("out of bounds: {} bytes past the end of {} bytes of {} of device {}", past,
                       below.bytes, to_string(below.kind), below.device);
}

void MemoryMap::release_device(int device) {
    std::unique_lock lock(mutex_);
    count_change();
    for (auto at = live_.begin(); at != live_.end();) {
        const Allocation allocation = at->second;
        if (allocation.device != device ||
            !(allocation.is_device() || allocation.kind == MemoryKind::managed)) {
            ++at;
            continue;
        }
        freed_.push_back(allocation);
        at = live_.erase(at);
        give_back(allocation);
    }
}

}  // namespace vgpu
