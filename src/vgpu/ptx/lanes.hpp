// Loops over the lanes of a warp, written so that the compiler vectorises them.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "vgpu/ptx/warp.hpp"

namespace vgpu::ptx {
namespace {

alignas(64) constexpr std::array<std::uint32_t, warp_lanes> lane_bit = [] {
    std::array<std::uint32_t, warp_lanes> bits{};
    for (unsigned lane = 0; lane < warp_lanes; ++lane) bits[lane] = 1u << lane;
    return bits;
}();

/// Stores value(lane) in the lanes that execute. `value` must be harmless in the others too. It may
/// read the lane that is written, and no other.
template <class T, class Value>
inline void each_lane(Warp& warp, Slot destination, Value value) {
    T* const out = warp.out<T>(destination);
    const std::uint32_t exec = warp.exec;
    if (exec == all_lanes) {
#pragma GCC ivdep
        for (unsigned lane = 0; lane < warp_lanes; ++lane) out[lane] = value(lane);
    } else {
#pragma GCC ivdep
        for (unsigned lane = 0; lane < warp_lanes; ++lane) {
            const T result = value(lane);
            out[lane] = (exec & lane_bit[lane]) != 0 ? result : out[lane];
        }
    }
}

/// One call per lane that executes, in order.
template <class Visit>
inline void each_active(std::uint32_t exec, Visit visit) {
    for (; exec != 0; exec &= exec - 1) visit(static_cast<unsigned>(std::countr_zero(exec)));
}

/// Bit per lane from bytes that are 0 or 255.
inline std::uint32_t pack_lanes(const std::uint8_t* bytes) {
#if defined(__SSE2__)
    const auto low = _mm_load_si128(reinterpret_cast<const __m128i*>(bytes));
    const auto high = _mm_load_si128(reinterpret_cast<const __m128i*>(bytes + 16));
    return static_cast<std::uint32_t>(_mm_movemask_epi8(low)) |
           static_cast<std::uint32_t>(_mm_movemask_epi8(high)) << 16;
#else
    std::uint32_t mask = 0;
    for (unsigned lane = 0; lane < warp_lanes; ++lane)
        mask |= std::uint32_t{bytes[lane] & 1u} << lane;
    return mask;
#endif
}

/// A bit per lane for which test(lane) holds.
template <class Test>
inline std::uint32_t lanes_where(Test test) {
    alignas(16) std::uint8_t bytes[warp_lanes];
    for (unsigned lane = 0; lane < warp_lanes; ++lane)
        bytes[lane] = test(lane) ? std::uint8_t{255} : std::uint8_t{0};
    return pack_lanes(bytes);
}

inline std::uint32_t predicate(const Warp& warp, Slot slot) {
    return *warp.in<std::uint32_t>(slot);
}

/// Writes a predicate in the lanes that execute.
inline void set_predicate(Warp& warp, Slot slot, std::uint32_t value) {
    std::uint32_t& out = *warp.out<std::uint32_t>(slot);
    out = (out & ~warp.exec) | (value & warp.exec);
}

}  // namespace
}  // namespace vgpu::ptx
