// What every float operation does to its operands and results.
#pragma once

#include <bit>
#include <cstdint>

namespace vgpu::ptx {
namespace {

constexpr float canonical_nan = std::bit_cast<float>(0x7fffffffu);

/// Subnormals become zeros with the same sign.
inline float flushed(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return (bits & 0x7f800000u) == 0 ? std::bit_cast<float>(bits & 0x80000000u) : value;
}
inline float saturated(float value) {
    return value > 0.0f ? (value < 1.0f ? value : 1.0f) : 0.0f;
}
inline double saturated(double value) {
    return value > 0.0 ? (value < 1.0 ? value : 1.0) : 0.0;
}

template <bool ftz, class T>
inline T input(T value) {
    if constexpr (ftz && sizeof(T) == 4) return flushed(value);
    return value;
}
template <bool ftz, bool saturate, class T>
inline T output(T value) {
    if constexpr (ftz && sizeof(T) == 4) value = flushed(value);
    if constexpr (saturate) return saturated(value);
    if constexpr (sizeof(T) == 4) return value != value ? canonical_nan : value;
    return value;
}

}  // namespace
}  // namespace vgpu::ptx
