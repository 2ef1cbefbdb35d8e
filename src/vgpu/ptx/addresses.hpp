// The addresses that the lanes of a memory instruction touch, as addresses of the host, checked.
#pragma once

#include "vgpu/ptx/block_run.hpp"
#include "vgpu/ptx/lanes.hpp"

namespace vgpu::ptx {
namespace {

struct Addresses {
    alignas(64) std::uint64_t at[warp_lanes];

    template <class T>
    T* pointer(unsigned lane) const {
        return reinterpret_cast<T*>(at[lane]);  // NOLINT: addresses are numbers in PTX
    }
    /// Whether the lanes' elements lie one behind the other.
    bool contiguous(std::size_t bytes) const {
        std::uint64_t difference = 0;
        for (unsigned lane = 0; lane < warp_lanes; ++lane)
            difference |= at[lane] - (at[0] + lane * bytes);
        return difference == 0;
    }
};

/// Register (64 bits, or 32 where `narrow`) plus offset.
inline void add_offset(const Warp& warp, Slot slot, bool narrow, std::uint64_t offset,
                       Addresses& result) {
    if (narrow) {
        const auto* const a = warp.in<std::uint32_t>(slot);
        const auto low = static_cast<std::uint32_t>(offset);
        for (unsigned lane = 0; lane < warp_lanes; ++lane)
            result.at[lane] = static_cast<std::uint32_t>(a[lane] + low);
    } else {
        const auto* const a = warp.in<std::uint64_t>(slot);
        for (unsigned lane = 0; lane < warp_lanes; ++lane) result.at[lane] = a[lane] + offset;
    }
}

/// Lanes that don't execute get the address of one that does, so that checks need no mask.
inline void fill_idle_lanes(std::uint32_t exec, Addresses& addresses) {
    if (exec == all_lanes) return;
    const std::uint64_t first = addresses.at[std::countr_zero(exec)];
    for (unsigned lane = 0; lane < warp_lanes; ++lane)
        addresses.at[lane] = (exec & lane_bit[lane]) != 0 ? addresses.at[lane] : first;
}

/// An offset into a window of `size` bytes: any lane outside, or not aligned.
inline bool outside_window(const Addresses& offsets, std::size_t bytes, std::size_t size) {
    if (bytes > size) return true;
    std::uint64_t bad = 0;
    const std::uint64_t last = size - bytes;
    for (unsigned lane = 0; lane < warp_lanes; ++lane)
        bad |= (last - offsets.at[lane]) >> 32 | (offsets.at[lane] & (bytes - 1));
    return bad != 0;
}

[[noreturn]] inline void fail_window(const Warp& warp, const Addresses& offsets, std::size_t bytes,
                                     std::size_t size, const char* space, AccessKind kind) {
    unsigned lane = 0;
    for (unsigned n = 0; n < warp_lanes; ++n) {
        if ((warp.exec & lane_bit[n]) == 0) continue;
        lane = n;
        if (offsets.at[n] + bytes > size || offsets.at[n] % bytes != 0) break;
    }
    const bool aligned = offsets.at[lane] % bytes == 0;
    warp.block->fail(
        warp, aligned ? FaultKind::illegal_address : FaultKind::misaligned_address,
        std::string(kind == AccessKind::read ? "reads " : "writes ") + std::to_string(bytes) +
            " bytes at " + space + " address " + std::to_string(offsets.at[lane]) +
            (aligned ? ", of " + std::to_string(size) + " bytes" : ", which is not aligned"),
        lane);
}

/// Host addresses of [a + value] for the lanes that execute.
template <Space space>
inline void find_addresses(Warp& warp, Slot slot, bool narrow, std::uint64_t offset,
                           std::size_t bytes, AccessKind kind, Addresses& result) {
    add_offset(warp, slot, narrow, offset, result);
    fill_idle_lanes(warp.exec, result);
    BlockRun& block = *warp.block;
    if constexpr (space == Space::shared) {
        if (outside_window(result, bytes, block.shared_bytes()))
            fail_window(warp, result, bytes, block.shared_bytes(), "shared", kind);
        const auto base = reinterpret_cast<std::uint64_t>(block.shared());
        for (unsigned lane = 0; lane < warp_lanes; ++lane) result.at[lane] += base;
    } else if constexpr (space == Space::local) {
        if (outside_window(result, bytes, block.local_bytes()))
            fail_window(warp, result, bytes, block.local_bytes(), "local", kind);
        for (unsigned lane = 0; lane < warp_lanes; ++lane)
            result.at[lane] += reinterpret_cast<std::uint64_t>(warp.local_memory(lane));
    } else {
        block.check(warp, result.at, warp.exec, bytes, kind);
    }
}

}  // namespace
}  // namespace vgpu::ptx
