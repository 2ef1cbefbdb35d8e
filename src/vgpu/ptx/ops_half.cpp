// Arithmetic of f16, bf16 and their pairs: computed wider, rounded once.
#include <cmath>

#include "vgpu/ptx/lanes.hpp"
#include "vgpu/ptx/operations.hpp"
#include "vgpu/ptx/small_floats.hpp"

namespace vgpu::ptx {
namespace {

struct HalfAdd {
    static double of(double a, double b, double) { return sum_for_rounding(a, b); }
};
struct HalfSubtract {
    static double of(double a, double b, double) { return sum_for_rounding(a, -b); }
};
struct HalfMultiply {
    static double of(double a, double b, double) { return a * b; }
};
/// The product of two such numbers is exact in a double.
struct HalfFused {
    static double of(double a, double b, double c) { return sum_for_rounding(a * b, c); }
};
struct HalfMinimum {
    static double of(double a, double b, double) {
        return a != a ? b : b != b ? a : a < b || (a == b && std::signbit(a)) ? a : b;
    }
};
struct HalfMaximum {
    static double of(double a, double b, double) {
        return a != a ? b : b != b ? a : a > b || (a == b && !std::signbit(a)) ? a : b;
    }
};
struct HalfNanMinimum {
    static double of(double a, double b, double) {
        return a != a ? a : b != b ? b : HalfMinimum::of(a, b, 0);
    }
};
struct HalfNanMaximum {
    static double of(double a, double b, double) {
        return a != a ? a : b != b ? b : HalfMaximum::of(a, b, 0);
    }
};
struct HalfExponential {
    static double of(double a, double, double) { return std::exp2(a); }
};
struct HalfTangent {
    static double of(double a, double, double) { return std::tanh(a); }
};

/// What modes ask for, packed in Instruction::mode.
constexpr std::uint8_t half_ftz = 1, half_saturate = 2, half_relu = 4;

template <FloatFormat format>
std::uint32_t flush_half(std::uint32_t bits) {
    return (bits & format.infinity()) == 0 ? bits & format.sign_bit() : bits;
}

template <class Op, FloatFormat format>
std::uint32_t half_result(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint8_t mode) {
    if ((mode & half_ftz) != 0) {
        a = flush_half<format>(a);
        b = flush_half<format>(b);
        c = flush_half<format>(c);
    }
    double value = Op::of(widen<format>(a), widen<format>(b), widen<format>(c));
    if ((mode & half_saturate) != 0) value = value > 0 ? (value < 1 ? value : 1.0) : 0.0;
    if ((mode & half_relu) != 0 && value < 0) value = 0;
    const std::uint32_t bits = narrow<format>(value, Rounding::nearest, false);
    return (mode & half_ftz) != 0 ? flush_half<format>(bits) : bits;
}

template <class Op, FloatFormat format, class T, unsigned operands>
void half(Warp& warp, const Instruction& i) {
    const T* const a = warp.in<T>(i.a);
    const T* const b = warp.in<T>(operands > 1 ? i.b : i.a);
    const T* const c = warp.in<T>(operands > 2 ? i.c : i.a);
    T* const d = warp.out<T>(i.d);
    each_active(warp.exec, [&](unsigned lane) {
        std::uint32_t result =
            half_result<Op, format>(a[lane] & 0xffff, b[lane] & 0xffff, c[lane] & 0xffff, i.mode);
        if constexpr (sizeof(T) == 4) {
            result |= half_result<Op, format>(a[lane] >> 16, b[lane] >> 16, c[lane] >> 16, i.mode)
                      << 16;
        }
        d[lane] = static_cast<T>(result);
    });
}

template <class T, bool absolute>
void half_sign(Warp& warp, const Instruction& i) {
    const T* const a = warp.in<T>(i.a);
    constexpr T signs = static_cast<T>(0x80008000u);
    each_lane<T>(warp, i.d, [=](unsigned lane) {
        return static_cast<T>(absolute ? a[lane] & ~signs : a[lane] ^ signs);
    });
}

template <class Op, unsigned operands>
Handler half_of(Type type) {
    switch (type) {
        case Type::f16:
            return &half<Op, f16_format, std::uint16_t, operands>;
        case Type::f16x2:
            return &half<Op, f16_format, std::uint32_t, operands>;
        case Type::bf16:
            return &half<Op, bf16_format, std::uint16_t, operands>;
        case Type::bf16x2:
            return &half<Op, bf16_format, std::uint32_t, operands>;
        default:
            return nullptr;
    }
}

}  // namespace

Handler half_operation(std::string_view name, Type type, const FloatModes& modes) {
    if (modes.rounding != Rounding::nearest) return nullptr;
    if (name == "add") return half_of<HalfAdd, 2>(type);
    if (name == "sub") return half_of<HalfSubtract, 2>(type);
    if (name == "mul") return half_of<HalfMultiply, 2>(type);
    if (name == "fma") return half_of<HalfFused, 3>(type);
    if (name == "min")
        return modes.nan ? half_of<HalfNanMinimum, 2>(type) : half_of<HalfMinimum, 2>(type);
    if (name == "max")
        return modes.nan ? half_of<HalfNanMaximum, 2>(type) : half_of<HalfMaximum, 2>(type);
    if (name == "ex2") return half_of<HalfExponential, 1>(type);
    if (name == "tanh") return half_of<HalfTangent, 1>(type);
    const bool pair = bytes_of(type) == 4;
    if (name == "neg")
        return pair ? &half_sign<std::uint32_t, false> : &half_sign<std::uint16_t, false>;
    if (name == "abs")
        return pair ? &half_sign<std::uint32_t, true> : &half_sign<std::uint16_t, true>;
    return nullptr;
}

}  // namespace vgpu::ptx
