// cvt between numbers of any two types.
#include <cfenv>
#include <cmath>
#include <limits>
#include <utility>

#include "vgpu/ptx/lanes.hpp"
#include "vgpu/ptx/operations.hpp"
#include "vgpu/ptx/small_floats.hpp"

namespace vgpu::ptx {
namespace {

/// Bits of a 16-bit or tensor float, told apart by its format.
template <FloatFormat format, class Storage>
struct Small {
    static constexpr FloatFormat layout = format;
    Storage bits;
};
using Half = Small<f16_format, std::uint16_t>;
using BrainFloat = Small<bf16_format, std::uint16_t>;

template <class T>
constexpr bool is_small = std::is_same_v<T, Half> || std::is_same_v<T, BrainFloat>;
template <class T>
constexpr bool is_real = std::is_floating_point_v<T> || is_small<T>;

template <class T>
double real_value(T value) {
    if constexpr (is_small<T>) {
        return widen<T::layout>(value.bits);
    } else {
        return static_cast<double>(value);
    }
}

double integral(double value, Rounding rounding) {
    switch (rounding) {
        case Rounding::nearest:
        case Rounding::nearest_away:
            return std::nearbyint(value);
        case Rounding::zero:
            return std::trunc(value);
        case Rounding::down:
            return std::floor(value);
        case Rounding::up:
            return std::ceil(value);
    }
    return value;
}

/// Modes of one conversion, from Instruction::value.
struct Modes {
    explicit Modes(std::uint64_t packed)
        : rounding(static_cast<Rounding>(packed & 7)),
          to_integral((packed & 8) != 0),
          saturate((packed & 16) != 0),
          satfinite((packed & 32) != 0),
          ftz((packed & 64) != 0),
          relu((packed & 128) != 0) {}
    Rounding rounding;
    bool to_integral, saturate, satfinite, ftz, relu;
};

double flush_small(double value) {
    return value > -0x1p-126 && value < 0x1p-126 ? std::copysign(0.0, value) : value;
}

/// Values outside are clamped. NaN gives 0, or the top bit where 64 bits are involved.
template <class D, bool wide_source>
D real_to_integer(double value, Rounding rounding) {
    if (value != value) {
        const bool wide = wide_source || sizeof(D) == 8;
        return wide ? static_cast<D>(D{1} << (8 * sizeof(D) - 1)) : D{0};
    }
    const double whole = integral(value, rounding);
    constexpr double least = static_cast<double>(std::numeric_limits<D>::min());
    constexpr double beyond =
        2.0 * static_cast<double>(std::uint64_t{1} << (std::numeric_limits<D>::digits - 1));
    if (whole < least) return std::numeric_limits<D>::min();
    if (whole >= beyond) return std::numeric_limits<D>::max();
    return static_cast<D>(whole);
}

template <class D, class S>
D integer_to_integer(S value, bool saturate) {
    if (saturate) {
        if (std::cmp_less(value, std::numeric_limits<D>::min()))
            return std::numeric_limits<D>::min();
        if (std::cmp_greater(value, std::numeric_limits<D>::max()))
            return std::numeric_limits<D>::max();
    }
    return static_cast<D>(value);
}

/// To float or double; the processor's rounding mode is set around it.
template <class D, class S>
D to_native(S value, const Modes& modes) {
    if constexpr (std::is_integral_v<S>) {
        return static_cast<D>(value);
    } else {
        double wide = real_value(value);
        if (modes.ftz && !std::is_same_v<S, double>) wide = flush_small(wide);
        if (modes.to_integral) wide = integral(wide, modes.rounding);
        D result = static_cast<D>(wide);
        if (modes.ftz && std::is_same_v<D, float>) result = static_cast<D>(flush_small(result));
        if (modes.saturate) result = result > 0 ? (result < 1 ? result : D{1}) : D{0};
        if (std::is_same_v<D, float> && result != result) return std::bit_cast<float>(0x7fffffffu);
        return result;
    }
}

template <class D, class S>
D to_small(S value, const Modes& modes) {
    double wide = 0;
    if constexpr (is_real<S>) {
        wide = real_value(value);
        if (modes.ftz && std::is_same_v<S, float>) wide = flush_small(wide);
        if (modes.to_integral) wide = integral(wide, modes.rounding);
    } else {
        wide = static_cast<double>(value);
    }
    if (modes.saturate) wide = wide > 0 ? (wide < 1 ? wide : 1.0) : 0.0;
    if (modes.relu && wide < 0) wide = 0;
    const Rounding rounding = modes.to_integral ? Rounding::nearest : modes.rounding;
    return {static_cast<decltype(D::bits)>(narrow<D::layout>(wide, rounding, modes.satfinite))};
}

template <class D, class S>
D converted(S value, const Modes& modes) {
    if constexpr (is_small<D>) {
        return to_small<D>(value, modes);
    } else if constexpr (std::is_floating_point_v<D>) {
        return to_native<D>(value, modes);
    } else if constexpr (is_real<S>) {
        double wide = real_value(value);
        if (modes.ftz && std::is_same_v<S, float>) wide = flush_small(wide);
        return real_to_integer<D, std::is_same_v<S, double>>(wide, modes.rounding);
    } else {
        return integer_to_integer<D>(value, modes.saturate);
    }
}

/// The low bytes of a register of any width.
template <class S>
void read_lanes(const Warp& warp, const Instruction& i, S* values) {
    const auto read = [&]<class Register>(const Register* lanes) {
        for (unsigned lane = 0; lane < warp_lanes; ++lane) {
            const Register whole = lanes[lane];
            if constexpr (std::is_integral_v<S>) {
                values[lane] = static_cast<S>(whole);
            } else {
                std::memcpy(&values[lane], &whole, std::min(sizeof(S), sizeof(Register)));
            }
        }
    };
    if (i.register_bytes == 2) return read(warp.in<std::uint16_t>(i.a));
    if (i.register_bytes == 4) return read(warp.in<std::uint32_t>(i.a));
    read(warp.in<std::uint64_t>(i.a));
}

/// Integers are extended to the width of the register, i.mode bytes.
template <class D>
void write_lanes(Warp& warp, const Instruction& i, const D* values) {
    const auto write = [&]<class Register>(Register) {
        each_lane<Register>(warp, i.d, [&](unsigned lane) {
            if constexpr (std::is_integral_v<D>) {
                return static_cast<Register>(values[lane]);
            } else {
                Register whole = 0;
                std::memcpy(&whole, &values[lane], std::min(sizeof(D), sizeof(Register)));
                return whole;
            }
        });
    };
    if (i.mode == 2) return write(std::uint16_t{});
    if (i.mode == 4) return write(std::uint32_t{});
    write(std::uint64_t{});
}

int processor_mode(Rounding rounding) {
    switch (rounding) {
        case Rounding::zero:
            return FE_TOWARDZERO;
        case Rounding::down:
            return FE_DOWNWARD;
        case Rounding::up:
            return FE_UPWARD;
        default:
            return FE_TONEAREST;
    }
}

/// A vectorised loop for the conversions that nvcc's code is full of.
template <class D, class S>
void convert_plainly(Warp& warp, const Instruction& i) {
    S source[warp_lanes];
    D result[warp_lanes];
    read_lanes(warp, i, source);
    for (unsigned lane = 0; lane < warp_lanes; ++lane) result[lane] = static_cast<D>(source[lane]);
    write_lanes(warp, i, result);
}

/// Not inlined, so that the compiler can't move it out of the rounding mode around it.
template <class D, class S>
[[gnu::noinline]] void convert_lanes(const S* source, D* result, const Modes& modes) {
    for (unsigned lane = 0; lane < warp_lanes; ++lane)
        result[lane] = converted<D>(source[lane], modes);
}

template <class D, class S>
void convert(Warp& warp, const Instruction& i) {
    const Modes modes(i.value);
    S source[warp_lanes];
    D result[warp_lanes];
    read_lanes(warp, i, source);
    const bool directed =
        std::is_floating_point_v<D> && !modes.to_integral && modes.rounding != Rounding::nearest;
    if (directed) std::fesetround(processor_mode(modes.rounding));
    convert_lanes<D, S>(source, result, modes);
    if (directed) std::fesetround(FE_TONEAREST);
    write_lanes(warp, i, result);
}

template <class D, class S>
Handler conversion(const ConvertModes& modes) {
    constexpr bool integers = std::is_integral_v<D> && std::is_integral_v<S>;
    if constexpr (integers) {
        if (!modes.saturate) return &convert_plainly<D, S>;
    }
    return &convert<D, S>;
}

template <class D>
Handler conversion_from(Type from, const ConvertModes& modes) {
    switch (from) {
        case Type::u8:
        case Type::b8:
            return conversion<D, std::uint8_t>(modes);
        case Type::u16:
        case Type::b16:
            return conversion<D, std::uint16_t>(modes);
        case Type::u32:
        case Type::b32:
            return conversion<D, std::uint32_t>(modes);
        case Type::u64:
        case Type::b64:
            return conversion<D, std::uint64_t>(modes);
        case Type::s8:
            return conversion<D, std::int8_t>(modes);
        case Type::s16:
            return conversion<D, std::int16_t>(modes);
        case Type::s32:
            return conversion<D, std::int32_t>(modes);
        case Type::s64:
            return conversion<D, std::int64_t>(modes);
        case Type::f16:
            return conversion<D, Half>(modes);
        case Type::bf16:
            return conversion<D, BrainFloat>(modes);
        case Type::f32:
            return conversion<D, float>(modes);
        case Type::f64:
            return conversion<D, double>(modes);
        default:
            return nullptr;
    }
}

// ---- pairs and 8-bit floats

double pair_input(double value, const Modes& modes) {
    return modes.relu && value < 0 ? 0.0 : value;
}

/// Two floats to a pair: a is the upper half, b the lower.
template <FloatFormat format, class D>
void pair_of_floats(Warp& warp, const Instruction& i) {
    const Modes modes(i.value);
    const float* const a = warp.in<float>(i.a);
    const float* const b = warp.in<float>(i.b);
    constexpr unsigned bits = 8 * sizeof(D) / 2;
    each_lane<D>(warp, i.d, [=](unsigned lane) {
        const auto part = [&](float value) {
            return narrow<format>(pair_input(value, modes), modes.rounding, modes.satfinite);
        };
        return static_cast<D>(part(a[lane]) << bits | part(b[lane]));
    });
}

/// A pair to a pair of another format, in the registers' low bits.
template <FloatFormat to, class D, FloatFormat from, class S>
void pair_of_pair(Warp& warp, const Instruction& i) {
    const Modes modes(i.value);
    const S* const a = warp.in<S>(i.a);
    constexpr unsigned to_bits = 8 * sizeof(D) / 2, from_bits = 8 * sizeof(S) / 2;
    constexpr std::uint32_t low = (1u << from_bits) - 1;
    each_lane<D>(warp, i.d, [=](unsigned lane) {
        const auto part = [&](std::uint32_t bits) {
            return narrow<to>(pair_input(widen<from>(bits), modes), modes.rounding,
                              modes.satfinite);
        };
        return static_cast<D>(part(a[lane] >> from_bits & low) << to_bits | part(a[lane] & low));
    });
}

void to_tensor_float(Warp& warp, const Instruction& i) {
    const Modes modes(i.value);
    const float* const a = warp.in<float>(i.a);
    each_lane<std::uint32_t>(warp, i.d, [=](unsigned lane) {
        return narrow<tf32_format>(pair_input(a[lane], modes), modes.rounding, modes.satfinite)
               << 13;
    });
}

}  // namespace

Handler convert_operation(Type to, Type from, const ConvertModes& modes) {
    if (to == Type::tf32) return from == Type::f32 ? &to_tensor_float : nullptr;
    switch (to) {
        case Type::u8:
        case Type::b8:
            return conversion_from<std::uint8_t>(from, modes);
        case Type::u16:
        case Type::b16:
            return conversion_from<std::uint16_t>(from, modes);
        case Type::u32:
        case Type::b32:
            return conversion_from<std::uint32_t>(from, modes);
        case Type::u64:
        case Type::b64:
            return conversion_from<std::uint64_t>(from, modes);
        case Type::s8:
            return conversion_from<std::int8_t>(from, modes);
        case Type::s16:
            return conversion_from<std::int16_t>(from, modes);
        case Type::s32:
            return conversion_from<std::int32_t>(from, modes);
        case Type::s64:
            return conversion_from<std::int64_t>(from, modes);
        case Type::f16:
            return conversion_from<Half>(from, modes);
        case Type::bf16:
            return conversion_from<BrainFloat>(from, modes);
        case Type::f32:
            return conversion_from<float>(from, modes);
        case Type::f64:
            return conversion_from<double>(from, modes);
        default:
            return nullptr;
    }
}

Handler convert_pair_operation(Type to, Type from, const ConvertModes&) {
    if (from == Type::f32) {
        switch (to) {
            case Type::f16x2:
                return &pair_of_floats<f16_format, std::uint32_t>;
            case Type::bf16x2:
                return &pair_of_floats<bf16_format, std::uint32_t>;
            case Type::e4m3x2:
                return &pair_of_floats<e4m3_format, std::uint16_t>;
            case Type::e5m2x2:
                return &pair_of_floats<e5m2_format, std::uint16_t>;
            default:
                return nullptr;
        }
    }
    if (to == Type::f16x2 && from == Type::e4m3x2)
        return &pair_of_pair<f16_format, std::uint32_t, e4m3_format, std::uint16_t>;
    if (to == Type::f16x2 && from == Type::e5m2x2)
        return &pair_of_pair<f16_format, std::uint32_t, e5m2_format, std::uint16_t>;
    if (to == Type::e4m3x2 && from == Type::f16x2)
        return &pair_of_pair<e4m3_format, std::uint16_t, f16_format, std::uint32_t>;
    if (to == Type::e5m2x2 && from == Type::f16x2)
        return &pair_of_pair<e5m2_format, std::uint16_t, f16_format, std::uint32_t>;
    return nullptr;
}

}  // namespace vgpu::ptx
