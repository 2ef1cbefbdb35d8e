// The arithmetic of all operators, written once for scalars (a GPU thread) and for GCC vectors (a
// host block).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "kernels/platform.hpp"

namespace rondo::kernels {

/// The lane type of a GCC vector; a scalar is its own lane.
template <class Value, class = void>
struct LaneOf {
    using type = Value;
};
template <class Value>
struct LaneOf<Value, std::enable_if_t<!std::is_arithmetic_v<Value>>> {
    using type = std::remove_cv_t<std::remove_reference_t<decltype(std::declval<Value&>()[0])>>;
};
template <class Value>
using Lane = typename LaneOf<Value>::type;

/// `Value` with every lane replaced by `NewLane` of the same size.
template <class Value, class NewLane, class = void>
struct RelaneOf {
    using type = NewLane;
};
#if !defined(__CUDACC__)
template <class Value, class NewLane>
struct RelaneOf<Value, NewLane, std::enable_if_t<!std::is_arithmetic_v<Value>>> {
    using type [[gnu::vector_size(sizeof(Value))]] = NewLane;
};
#endif
template <class Value, class NewLane>
using Relane = typename RelaneOf<Value, NewLane>::type;

/// The unsigned integer with as many bits as `T`.
template <class T>
using BitsOf = std::conditional_t<
    sizeof(T) == 1, std::uint8_t,
    std::conditional_t<sizeof(T) == 2, std::uint16_t,
                       std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
template <class Value>
using Unsigned = Relane<Value, BitsOf<Lane<Value>>>;

/// The same bits as another type of the same size.
template <class To, class From>
RONDO_DEVICE To bits_as(const From& from) {
    return __builtin_bit_cast(To, from);
}

template <class Value>
inline constexpr bool is_floating = std::is_floating_point_v<Lane<Value>>;

/// Integers wrap, signed ones too. Floats are added without contraction into a fused operation, so
/// that every executor gives the same bits.
template <class Value>
RONDO_DEVICE Value add(Value a, Value b) {
    if constexpr (is_floating<Value>) {
#if defined(__CUDA_ARCH__)
        if constexpr (sizeof(Value) == 8) {
            return __dadd_rn(a, b);
        } else {
            return __fadd_rn(a, b);
        }
#else
        return a + b;
#endif
    } else {
        return (Value)((Unsigned<Value>)a + (Unsigned<Value>)b);
    }
}

/// Integers wrap. Floats are rounded before anything else happens to the product.
template <class Value>
RONDO_DEVICE Value multiply(Value a, Value b) {
    if constexpr (is_floating<Value>) {
#if defined(__CUDA_ARCH__)
        if constexpr (sizeof(Value) == 8) {
            return __dmul_rn(a, b);
        } else {
            return __fmul_rn(a, b);
        }
#else
        return a * b;
#endif
    } else {
        return (Value)((Unsigned<Value>)a * (Unsigned<Value>)b);
    }
}

/// The lesser of the two. A NaN yields to a number, NaN only if both are; -0 is less than +0.
template <class Value>
RONDO_DEVICE Value minimum(Value a, Value b) {
    if constexpr (!is_floating<Value>) {
        return a < b ? a : b;
    } else {
#if defined(__CUDA_ARCH__)
        return sizeof(Value) == 8 ? (Value)fmin(a, b) : (Value)fminf(a, b);
#else
        const Value y = b != b ? a : b;
        const Value x = a != a ? y : a;
        const Value first = x < y ? x : y;
        const Value second = y < x ? y : x;
        return bits_as<Value>(bits_as<Unsigned<Value>>(first) | bits_as<Unsigned<Value>>(second));
#endif
    }
}

/// The greater of the two, by the rules of minimum().
template <class Value>
RONDO_DEVICE Value maximum(Value a, Value b) {
    if constexpr (!is_floating<Value>) {
        return a > b ? a : b;
    } else {
#if defined(__CUDA_ARCH__)
        return sizeof(Value) == 8 ? (Value)fmax(a, b) : (Value)fmaxf(a, b);
#else
        const Value y = b != b ? a : b;
        const Value x = a != a ? y : a;
        const Value first = x > y ? x : y;
        const Value second = y > x ? y : x;
        return bits_as<Value>(bits_as<Unsigned<Value>>(first) & bits_as<Unsigned<Value>>(second));
#endif
    }
}

/// All lanes divided by a number in [1, 2^31); integers truncate toward zero.
template <class Value>
RONDO_DEVICE Value divide(Value a, std::uint32_t divisor) {
    using T = Lane<Value>;
    if constexpr (is_floating<Value>) {
        return a / (T)divisor;
    } else if constexpr (std::is_arithmetic_v<Value> && sizeof(T) == 1) {
        // One division for all values: n * ceil(2^16 / d) / 2^16 is n / d for n < 2^8 and any d,
        // because n times what was rounded up is less than 255 * 255.
        const std::uint32_t reciprocal = 65535u / divisor + 1;
        const std::int32_t wide = a;
        const auto magnitude = static_cast<std::uint32_t>(wide < 0 ? -wide : wide);
        const auto quotient = static_cast<std::int32_t>(magnitude * reciprocal >> 16);
        return (T)(wide < 0 ? -quotient : quotient);
    } else if constexpr (std::is_arithmetic_v<Value>) {
        return (T)(a / (T)divisor);
    } else {
        Value quotient = a;
        for (std::size_t i = 0; i < sizeof(Value) / sizeof(T); ++i) {
            quotient[i] = divide<T>(a[i], divisor);
        }
        return quotient;
    }
}

/// The value that 64 bits of an argument stand for: floats by their bits, integers by their low
/// bits.
template <class T>
RONDO_DEVICE T from_argument_bits(std::uint64_t bits) {
    if constexpr (std::is_floating_point_v<T>) {
        return bits_as<T>((BitsOf<T>)bits);
    } else {
        return (T)bits;
    }
}

}  // namespace rondo::kernels
