// Conversions between float and the 16- and 8-bit floats, written once for scalars and for GCC
// vectors of 32-bit lanes. A narrow value travels in the low bits of a 32-bit lane. All of them
// round to nearest even, keep subnormals and give the bits that NVIDIA's conversions give (a NaN
// becomes NVIDIA's canonical NaN).
#pragma once

#include <cstdint>

#include "kernels/arithmetic.hpp"
#include "rondo/types.hpp"

namespace rondo::kernels {

/// What a value beyond the greatest finite one becomes: that one (as __NV_SATFINITE), or infinity
/// where there is one.
enum class Overflow { saturate, infinity };

/// A binary float with a sign bit, `exponent_bits` and `mantissa_bits`.
template <unsigned exponent_bits, unsigned mantissa_bits>
struct NarrowFloat {
    static constexpr unsigned shift = 23 - mantissa_bits;
    static constexpr std::uint32_t bias = (1u << (exponent_bits - 1)) - 1;
    static constexpr std::uint32_t sign_bit = 1u << (exponent_bits + mantissa_bits);
    static constexpr std::uint32_t rebias = (127 - bias) << 23;
    static constexpr std::uint32_t least_normal = (127 - bias + 1) << 23;
    /// Adding it to a subnormal makes the adder of the processor round at the last bit of the
    /// narrow format.
    static constexpr std::uint32_t subnormal_magic = (127 - bias + 1 + shift) << 23;
};

using Half = NarrowFloat<5, 10>;
using Float8E5M2 = NarrowFloat<5, 2>;
using Float8E4M3 = NarrowFloat<4, 3>;

/// Finite values that do not overflow, and infinity's neighbours, rounded to `Narrow`: magnitude
/// bits only.
template <class Narrow, class Float, class Bits = Unsigned<Float>>
RONDO_DEVICE Bits round_magnitude(Bits magnitude) {
    const Bits odd = (magnitude >> Narrow::shift) & 1u;
    const Bits half_unit_less_one = Bits{} + ((1u << (Narrow::shift - 1)) - 1);
    const Bits normal = (magnitude + half_unit_less_one + odd - Narrow::rebias) >> Narrow::shift;
    const Bits magic = Bits{} + Narrow::subnormal_magic;
    const Bits subnormal = bits_as<Bits>(bits_as<Float>(magnitude) + bits_as<Float>(magic)) - magic;
    return magnitude < Narrow::least_normal ? subnormal : normal;
}

template <class Float, class Bits = Unsigned<Float>>
RONDO_DEVICE Bits float_to_half(Float value) {
    const Bits bits = bits_as<Bits>(value);
    const Bits magnitude = bits & 0x7fffffffu;
    const Bits zero{};
    Bits result = round_magnitude<Half, Float>(magnitude);
    result =
        magnitude >= 0x477ff000u ? zero + 0x7c00u : result;  // 65520 and more round to infinity
    const Bits signed_result = result | ((bits >> 16) & 0x8000u);
    return magnitude > 0x7f800000u ? zero + 0x7fffu : signed_result;
}

template <class Float, class Bits>
RONDO_DEVICE Float half_to_float(Bits half) {
    const Bits zero{};
    const Bits magnitude = (half & 0x7fffu) << 13;
    const Bits scale = zero + ((127u + 127 - 15) << 23);
    const Bits scaled = bits_as<Bits>(bits_as<Float>(magnitude) * bits_as<Float>(scale));
    const Bits special = magnitude | 0x7f800000u;  // infinity and NaN keep their mantissa
    const Bits result = magnitude >= (0x7c00u << 13) ? special : scaled;
    return bits_as<Float>(result | ((half & 0x8000u) << 16));
}

/// The upper half of the lane holds the result, the lower half is unspecified.
template <class Float, class Bits = Unsigned<Float>>
RONDO_DEVICE Bits float_to_bfloat_high(Float value) {
    const Bits bits = bits_as<Bits>(value);
    const Bits rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
    return value != value ? Bits{} + 0x7fff0000u : rounded;
}

template <class Float, class Bits = Unsigned<Float>>
RONDO_DEVICE Bits float_to_e4m3(Float value) {
    const Bits bits = bits_as<Bits>(value);
    const Bits magnitude = bits & 0x7fffffffu;
    const Bits zero{};
    const Bits clamped = magnitude > 0x43e00000u ? zero + 0x43e00000u : magnitude;  // 448
    const Bits result = round_magnitude<Float8E4M3, Float>(clamped) | ((bits >> 24) & 0x80u);
    return magnitude > 0x7f800000u ? zero + 0x7fu : result;
}

template <class Float, class Bits>
RONDO_DEVICE Float e4m3_to_float(Bits narrow) {
    const Bits zero{};
    const Bits magnitude = narrow & 0x7fu;
    const Bits scale = zero + ((127u + 127 - 7) << 23);
    const Bits scaled = bits_as<Bits>(bits_as<Float>(magnitude << 20) * bits_as<Float>(scale));
    const Bits result = magnitude == 0x7fu ? zero + 0x7fffffffu : scaled | ((narrow & 0x80u) << 24);
    return bits_as<Float>(result);
}

template <Overflow overflow, class Float, class Bits = Unsigned<Float>>
RONDO_DEVICE Bits float_to_e5m2(Float value) {
    const Bits bits = bits_as<Bits>(value);
    const Bits magnitude = bits & 0x7fffffffu;
    const Bits zero{};
    const Bits clamped = magnitude > 0x47600000u ? zero + 0x47600000u : magnitude;  // 57344
    Bits result = round_magnitude<Float8E5M2, Float>(clamped);
    if constexpr (overflow == Overflow::infinity) {
        result =
            magnitude >= 0x47700000u ? zero + 0x7cu : result;  // 61440 and more round to infinity
    }
    result = result | ((bits >> 24) & 0x80u);
    return magnitude > 0x7f800000u ? zero + 0x7fu : result;
}

/// e5m2 is the upper byte of a half.
template <class Float, class Bits>
RONDO_DEVICE Float e5m2_to_float(Bits narrow) {
    return half_to_float<Float>(narrow << 8);
}

template <ElementType type, class Float, class Bits>
RONDO_DEVICE Float float8_to_float(Bits narrow) {
    if constexpr (type == ElementType::f8e4m3) {
        return e4m3_to_float<Float>(narrow);
    } else {
        return e5m2_to_float<Float>(narrow);
    }
}

template <ElementType type, Overflow overflow, class Float, class Bits = Unsigned<Float>>
RONDO_DEVICE Bits float_to_float8(Float value) {
    if constexpr (type == ElementType::f8e4m3) {
        return float_to_e4m3(value);
    } else {
        return float_to_e5m2<overflow>(value);
    }
}

}  // namespace rondo::kernels
