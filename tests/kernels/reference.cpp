// The reference implementation: see reference.hpp.
#include "tests/kernels/reference.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <fmt/format.h>

namespace rondo::test {
namespace {

template <class T>
T read(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
}

/// How an element is stored (Bits) and computed with (Value).
template <class T>
struct Plain {
    using Bits = T;
    using Value = T;
    static T decode(T bits) { return bits; }
    static T encode(T value, bool) { return value; }
};
struct HalfFormat {
    using Bits = std::uint16_t;
    using Value = float;
    static float decode(Bits bits) { return __half2float(__half_raw{bits}); }
    static Bits encode(float value, bool) {
        return static_cast<__half_raw>(__float2half_rn(value)).x;
    }
};
struct BfloatFormat {
    using Bits = std::uint16_t;
    using Value = float;
    static float decode(Bits bits) { return __bfloat162float(__nv_bfloat16_raw{bits}); }
    static Bits encode(float value, bool) {
        return static_cast<__nv_bfloat16_raw>(__float2bfloat16_rn(value)).x;
    }
};
template <__nv_fp8_interpretation_t format>
struct Float8Format {
    using Bits = std::uint8_t;
    using Value = float;
    static float decode(Bits bits) { return __half2float(__nv_cvt_fp8_to_halfraw(bits, format)); }
    static Bits encode(float value, bool exact) {
        return __nv_cvt_float_to_fp8(value, exact ? __NV_NOSAT : __NV_SATFINITE, format);
    }
};

/// Calls function(format) with the format of the type.
template <class Function>
auto with_format(ElementType type, Function function) {
    switch (type) {
        case ElementType::i8:
            return function(Plain<std::int8_t>{});
        case ElementType::u8:
            return function(Plain<std::uint8_t>{});
        case ElementType::i32:
            return function(Plain<std::int32_t>{});
        case ElementType::u32:
            return function(Plain<std::uint32_t>{});
        case ElementType::i64:
            return function(Plain<std::int64_t>{});
        case ElementType::u64:
            return function(Plain<std::uint64_t>{});
        case ElementType::f16:
            return function(HalfFormat{});
        case ElementType::bf16:
            return function(BfloatFormat{});
        case ElementType::f32:
            return function(Plain<float>{});
        case ElementType::f64:
            return function(Plain<double>{});
        case ElementType::f8e4m3:
            return function(Float8Format<__NV_E4M3>{});
        case ElementType::f8e5m2:
            return function(Float8Format<__NV_E5M2>{});
    }
    throw std::logic_error("no such type");
}

/// The lesser by the rules of docs/kernels.md.
template <class T>
T lesser(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(a)) return b;
        if (std::isnan(b)) return a;
        if (a == b) return std::signbit(a) ? a : b;
    }
    return b < a ? b : a;
}
template <class T>
T greater(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(a)) return b;
        if (std::isnan(b)) return a;
        if (a == b) return std::signbit(a) ? b : a;
    }
    return a < b ? b : a;
}

template <class T>
T plus(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
        return a + b;
    else
        return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
template <class T>
T times(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
        return a * b;
    else
        return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

template <class T>
T factor_of(const kernels::ReduceStep& step, std::uint32_t source) {
    T factor;
    std::memcpy(&factor, &step.factors[source], sizeof(T));  // little endian: the low bytes
    return factor;
}

template <class Format>
std::vector<std::byte> expected(Format, ReduceOp op, const kernels::ReduceStep& step) {
    using Bits = typename Format::Bits;
    using Value = typename Format::Value;
    std::vector<std::byte> result(step.count * sizeof(Bits));
    for (std::uint64_t i = 0; i < step.count; ++i) {
        Value sum{};
        for (std::uint32_t s = 0; s < step.source_count; ++s) {
            const auto* const source = static_cast<const std::byte*>(step.sources[s]);
            Value value = Format::decode(read<Bits>(source + (step.first + i) * sizeof(Bits)));
            if (op == ReduceOp::premul_sum) value = times(value, factor_of<Value>(step, s));
            if (s == 0)
                sum = value;
            else if (op == ReduceOp::prod)
                sum = times(sum, value);
            else if (op == ReduceOp::min)
                sum = lesser(sum, value);
            else if (op == ReduceOp::max)
                sum = greater(sum, value);
            else
                sum = plus(sum, value);
        }
        if (op == ReduceOp::mean) {
            // Wide enough for every pair of an element and a divisor.
            if constexpr (std::is_floating_point_v<Value>)
                sum = sum / static_cast<Value>(step.divisor);
            else
                sum = static_cast<Value>(static_cast<__int128>(sum) /
                                         static_cast<__int128>(step.divisor));
        }
        const Bits bits = Format::encode(sum, op == ReduceOp::min || op == ReduceOp::max);
        std::memcpy(result.data() + i * sizeof(Bits), &bits, sizeof(Bits));
    }
    return result;
}

}  // namespace

std::vector<std::byte> expected_result(ElementType type, ReduceOp op,
                                       const kernels::ReduceStep& step) {
    return with_format(type, [&](auto format) { return expected(format, op, step); });
}

bool is_float(ElementType type) {
    return with_format(type, [](auto format) {
        return std::is_floating_point_v<typename decltype(format)::Value>;
    });
}

bool same_element(ElementType type, const std::byte* a, const std::byte* b) {
    return with_format(type, [&](auto format) {
        using Format = decltype(format);
        const auto x = read<typename Format::Bits>(a);
        const auto y = read<typename Format::Bits>(b);
        if (std::memcmp(&x, &y, sizeof(x)) == 0) return true;
        if constexpr (std::is_floating_point_v<typename Format::Value>) {
            return std::isnan(Format::decode(x)) && std::isnan(Format::decode(y));
        }
        return false;
    });
}

std::vector<std::byte> element_from(ElementType type, double value) {
    return with_format(type, [&](auto format) {
        using Format = decltype(format);
        const auto bits = Format::encode(static_cast<typename Format::Value>(value), true);
        std::vector<std::byte> bytes(sizeof(bits));
        std::memcpy(bytes.data(), &bits, sizeof(bits));
        return bytes;
    });
}

std::string show_element(ElementType type, const std::byte* element) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, element, size_of(type));
    return with_format(type, [&](auto format) {
        using Format = decltype(format);
        return fmt::format("{} ({:#x})", +Format::decode(read<typename Format::Bits>(element)),
                           bits);
    });
}

}  // namespace rondo::test
