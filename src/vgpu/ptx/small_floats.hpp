// Floats of 8, 16 and 19 bits: their values, and rounding to them in every mode.
#pragma once

#include <bit>
#include <cstdint>

#include "vgpu/ptx/operations.hpp"

namespace vgpu::ptx {
namespace {

struct FloatFormat {
    unsigned exponent_bits, mantissa_bits;
    bool has_infinity;  ///< otherwise the largest pattern is the only NaN (e4m3)

    constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
    constexpr std::uint32_t sign_bit() const { return 1u << (exponent_bits + mantissa_bits); }
    constexpr std::uint32_t infinity() const {
        return ((1u << exponent_bits) - 1) << mantissa_bits;
    }
    constexpr std::uint32_t largest() const {
        return has_infinity ? infinity() - 1 : sign_bit() - 2;
    }
    constexpr std::uint32_t nan() const { return sign_bit() - 1; }
};

constexpr FloatFormat f16_format{5, 10, true};
constexpr FloatFormat bf16_format{8, 7, true};
constexpr FloatFormat e5m2_format{5, 2, true};
constexpr FloatFormat e4m3_format{4, 3, false};
constexpr FloatFormat tf32_format{8, 10, true};

constexpr std::uint64_t double_sign = std::uint64_t{1} << 63;
constexpr std::uint64_t double_infinity = std::uint64_t{0x7ff} << 52;

template <FloatFormat format>
inline double widen(std::uint32_t bits) {
    const std::uint64_t sign = (bits & format.sign_bit()) != 0 ? double_sign : 0;
    const std::uint32_t magnitude = bits & (format.sign_bit() - 1);
    if (magnitude > (format.has_infinity ? format.infinity() : format.largest()))
        return std::bit_cast<double>(std::uint64_t{0x7fffffff'ffffffff});
    if (format.has_infinity && magnitude == format.infinity())
        return std::bit_cast<double>(sign | double_infinity);
    const std::uint32_t exponent = magnitude >> format.mantissa_bits;
    const std::uint64_t mantissa = magnitude & ((1u << format.mantissa_bits) - 1);
    if (exponent == 0) {
        constexpr int least = 1 - format.bias() - static_cast<int>(format.mantissa_bits);
        constexpr auto scale =
            std::bit_cast<double>(static_cast<std::uint64_t>(least + 1023) << 52);
        const double value = static_cast<double>(mantissa) * scale;
        return sign != 0 ? -value : value;
    }
    const auto wide_exponent =
        static_cast<std::uint64_t>(static_cast<int>(exponent) - format.bias() + 1023);
    return std::bit_cast<double>(sign | wide_exponent << 52 |
                                 mantissa << (52 - format.mantissa_bits));
}

/// Whether a magnitude with this remainder is rounded up.
inline bool rounds_up(Rounding rounding, bool negative, bool odd, std::uint64_t rest,
                      std::uint64_t half) {
    switch (rounding) {
        case Rounding::nearest:
            return rest > half || (rest == half && odd);
        case Rounding::nearest_away:
            return rest >= half;
        case Rounding::zero:
            return false;
        case Rounding::down:
            return negative && rest != 0;
        case Rounding::up:
            return !negative && rest != 0;
    }
    return false;
}

/// The nearest value of the format in the given direction. `finite`: overflow and infinities give
/// the largest value.
template <FloatFormat format>
inline std::uint32_t narrow(double value, Rounding rounding, bool finite) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const bool negative = (bits & double_sign) != 0;
    const std::uint64_t magnitude = bits & ~double_sign;
    if (magnitude > double_infinity) return format.nan();
    const std::uint32_t sign = negative ? format.sign_bit() : 0;
    const std::uint32_t beyond =
        finite || !format.has_infinity ? format.largest() : format.infinity();
    if (magnitude == double_infinity)
        return finite || format.has_infinity ? sign | beyond : format.nan();
    const int exponent = static_cast<int>(magnitude >> 52) - 1023;
    constexpr int least = 1 - format.bias();
    const int used = exponent < least ? least : exponent;
    const auto shift =
        static_cast<unsigned>(52 - static_cast<int>(format.mantissa_bits) + used - exponent);
    const std::uint64_t mantissa =
        magnitude >> 52 == 0 ? 0 : (magnitude & 0xfffffffffffffu) | std::uint64_t{1} << 52;
    // Very small values: only whether something is left matters.
    const std::uint64_t kept = shift > 60 ? 0 : mantissa >> shift;
    const std::uint64_t rest =
        shift > 60 ? (magnitude != 0) : mantissa & ((std::uint64_t{1} << shift) - 1);
    const std::uint64_t half = shift > 60 ? 2 : std::uint64_t{1} << (shift - 1);
    const std::uint64_t rounded = kept + rounds_up(rounding, negative, (kept & 1) != 0, rest, half);
    const std::uint64_t result =
        (static_cast<std::uint64_t>(used + format.bias() - 1) << format.mantissa_bits) + rounded;
    if (result > format.largest()) {
        const bool towards_zero = rounding == Rounding::zero ||
                                  (rounding == Rounding::down && !negative) ||
                                  (rounding == Rounding::up && negative);
        return sign | (towards_zero                    ? format.largest()
                       : format.has_infinity || finite ? beyond
                                                       : format.nan());
    }
    return sign | static_cast<std::uint32_t>(result);
}

/// a + b for values that are then rounded to a format with far fewer bits: the last bit is made odd
/// where the sum is not exact, so that rounding twice rounds as once.
inline double sum_for_rounding(double a, double b) {
    const double sum = a + b;
    const auto bits = std::bit_cast<std::uint64_t>(sum);
    if ((bits & ~double_sign) >= double_infinity || (bits & 1) != 0) return sum;
    const double part = sum - a;
    const double error = (a - (sum - part)) + (b - part);
    if (error == 0) return sum;
    const bool away = (error > 0) == (sum > 0);
    return std::bit_cast<double>(away ? bits + 1 : bits - 1);
}

}  // namespace
}  // namespace vgpu::ptx
