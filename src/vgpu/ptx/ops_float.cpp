// Arithmetic of float and double, exactly rounded in every mode, with flushing and saturation.
// Compiled twice, as VGPU_PTX_ISA says: for any processor, and for those with fused multiply-add.
#include <cfenv>
#include <cmath>
#include <limits>

#include "vgpu/ptx/float_helpers.hpp"
#include "vgpu/ptx/lanes.hpp"
#include "vgpu/ptx/operations.hpp"

namespace vgpu::ptx {
namespace {

struct FloatAdd {
    template <class T>
    static T of(T a, T b) {
        return a + b;
    }
};
struct FloatSubtract {
    template <class T>
    static T of(T a, T b) {
        return a - b;
    }
};
struct FloatMultiply {
    template <class T>
    static T of(T a, T b) {
        return a * b;
    }
};
struct FloatDivide {
    template <class T>
    static T of(T a, T b) {
        return a / b;
    }
};
/// -0 is less than +0, and a number wins over a NaN.
struct FloatMinimum {
    template <class T>
    static T of(T a, T b) {
        const T less = a < b || (a == b && std::signbit(a)) ? a : b;
        return a != a ? b : b != b ? a : less;
    }
};
struct FloatMaximum {
    template <class T>
    static T of(T a, T b) {
        const T more = a > b || (a == b && !std::signbit(a)) ? a : b;
        return a != a ? b : b != b ? a : more;
    }
};
struct NanMinimum {
    template <class T>
    static T of(T a, T b) {
        return a != a || b != b ? std::numeric_limits<T>::quiet_NaN() : FloatMinimum::of(a, b);
    }
};
struct NanMaximum {
    template <class T>
    static T of(T a, T b) {
        return a != a || b != b ? std::numeric_limits<T>::quiet_NaN() : FloatMaximum::of(a, b);
    }
};
struct FloatReciprocal {
    template <class T>
    static T of(T a) {
        return T{1} / a;
    }
};
struct FloatRoot {
    template <class T>
    static T of(T a) {
        return std::sqrt(a);
    }
};
struct Fused {
    template <class T>
    static T of(T a, T b, T c) {
        return std::fma(a, b, c);
    }
};

template <class Op, class T, bool ftz, bool saturate>
void float_unary(Warp& warp, const Instruction& i) {
    const T* const a = warp.in<T>(i.a);
    each_lane<T>(warp, i.d,
                 [=](unsigned lane) { return output<ftz, saturate>(Op::of(input<ftz>(a[lane]))); });
}
template <class Op, class T, bool ftz, bool saturate>
void float_binary(Warp& warp, const Instruction& i) {
    const T* const a = warp.in<T>(i.a);
    const T* const b = warp.in<T>(i.b);
    each_lane<T>(warp, i.d, [=](unsigned lane) {
        return output<ftz, saturate>(Op::of(input<ftz>(a[lane]), input<ftz>(b[lane])));
    });
}
template <class Op, class T, bool ftz, bool saturate>
void float_ternary(Warp& warp, const Instruction& i) {
    const T* const a = warp.in<T>(i.a);
    const T* const b = warp.in<T>(i.b);
    const T* const c = warp.in<T>(i.c);
    each_lane<T>(warp, i.d, [=](unsigned lane) {
        return output<ftz, saturate>(
            Op::of(input<ftz>(a[lane]), input<ftz>(b[lane]), input<ftz>(c[lane])));
    });
}

/// Sign operations keep NaNs as they are.
template <class T, class Bits, bool absolute, bool ftz>
void float_sign(Warp& warp, const Instruction& i) {
    const T* const a = warp.in<T>(i.a);
    constexpr Bits sign = Bits{1} << (8 * sizeof(T) - 1);
    each_lane<T>(warp, i.d, [=](unsigned lane) {
        const auto bits = std::bit_cast<Bits>(input<ftz>(a[lane]));
        return std::bit_cast<T>(static_cast<Bits>(absolute ? bits & ~sign : bits ^ sign));
    });
}
/// d = |b| with the sign of a.
template <class Bits>
void copy_sign(Warp& warp, const Instruction& i) {
    const Bits* const a = warp.in<Bits>(i.a);
    const Bits* const b = warp.in<Bits>(i.b);
    constexpr Bits sign = Bits{1} << (8 * sizeof(Bits) - 1);
    each_lane<Bits>(warp, i.d, [=](unsigned lane) {
        return static_cast<Bits>((b[lane] & ~sign) | (a[lane] & sign));
    });
}

/// The rounding mode around a handler. The handler is not inlined: its constants can't be folded.
class RoundingScope {
public:
    explicit RoundingScope(std::uint8_t mode) {
        std::fesetround(mode == static_cast<int>(Rounding::zero)   ? FE_TOWARDZERO
                        : mode == static_cast<int>(Rounding::down) ? FE_DOWNWARD
                                                                   : FE_UPWARD);
    }
    ~RoundingScope() { std::fesetround(FE_TONEAREST); }
    RoundingScope(const RoundingScope&) = delete;
    RoundingScope& operator=(const RoundingScope&) = delete;
};

template <Handler handler>
void rounded(Warp& warp, const Instruction& i) {
    const RoundingScope scope(i.mode);
    handler(warp, i);
}

template <template <class, class, bool, bool> class Shape, class Op, class T>
Handler with_modes(const FloatModes& modes) {
    const bool directed = modes.rounding != Rounding::nearest;
    const auto pick = [directed]<bool ftz, bool saturate>() -> Handler {
        constexpr Handler plain = &Shape<Op, T, ftz, saturate>::run;
        return directed ? &rounded<plain> : plain;
    };
    if (sizeof(T) == 4 && modes.ftz)
        return modes.saturate ? pick.template operator()<true, true>()
                              : pick.template operator()<true, false>();
    return modes.saturate ? pick.template operator()<false, true>()
                          : pick.template operator()<false, false>();
}

template <class Op, class T, bool ftz, bool saturate>
struct UnaryShape {
    static void run(Warp& w, const Instruction& i) { float_unary<Op, T, ftz, saturate>(w, i); }
};
template <class Op, class T, bool ftz, bool saturate>
struct BinaryShape {
    static void run(Warp& w, const Instruction& i) { float_binary<Op, T, ftz, saturate>(w, i); }
};
template <class Op, class T, bool ftz, bool saturate>
struct TernaryShape {
    static void run(Warp& w, const Instruction& i) { float_ternary<Op, T, ftz, saturate>(w, i); }
};

template <class T>
Handler float_of(std::string_view name, const FloatModes& modes) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    if (name == "add") return with_modes<BinaryShape, FloatAdd, T>(modes);
    if (name == "sub") return with_modes<BinaryShape, FloatSubtract, T>(modes);
    if (name == "mul") return with_modes<BinaryShape, FloatMultiply, T>(modes);
    if (name == "div") return with_modes<BinaryShape, FloatDivide, T>(modes);
    if (name == "min")
        return modes.nan ? with_modes<BinaryShape, NanMinimum, T>(modes)
                         : with_modes<BinaryShape, FloatMinimum, T>(modes);
    if (name == "max")
        return modes.nan ? with_modes<BinaryShape, NanMaximum, T>(modes)
                         : with_modes<BinaryShape, FloatMaximum, T>(modes);
    if (name == "rcp") return with_modes<UnaryShape, FloatReciprocal, T>(modes);
    if (name == "sqrt") return with_modes<UnaryShape, FloatRoot, T>(modes);
    if (name == "fma" || name == "mad") return with_modes<TernaryShape, Fused, T>(modes);
    if (name == "abs")
        return modes.ftz ? &float_sign<T, Bits, true, true> : &float_sign<T, Bits, true, false>;
    if (name == "neg")
        return modes.ftz ? &float_sign<T, Bits, false, true> : &float_sign<T, Bits, false, false>;
    if (name == "copysign") return &copy_sign<Bits>;
    return nullptr;
}

}  // namespace

namespace VGPU_PTX_ISA {

Handler float_operation(std::string_view name, Type type, const FloatModes& modes) {
    if (type == Type::f32) return float_of<float>(name, modes);
    if (type == Type::f64) return float_of<double>(name, modes);
    return nullptr;
}

}  // namespace VGPU_PTX_ISA

}  // namespace vgpu::ptx
