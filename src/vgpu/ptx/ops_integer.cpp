// Integer arithmetic.
#include <type_traits>

#include "vgpu/ptx/lanes.hpp"
#include "vgpu/ptx/operations.hpp"

namespace vgpu::ptx {
namespace {

template <class T>
using Unsigned = std::make_unsigned_t<T>;

/// Twice as wide, with the same sign.
template <class T>
struct WiderOf;
template <>
struct WiderOf<std::uint16_t> {
    using Type = std::uint32_t;
};
template <>
struct WiderOf<std::int16_t> {
    using Type = std::int32_t;
};
template <>
struct WiderOf<std::uint32_t> {
    using Type = std::uint64_t;
};
template <>
struct WiderOf<std::int32_t> {
    using Type = std::int64_t;
};
__extension__ typedef unsigned __int128 Unsigned128;
__extension__ typedef __int128 Signed128;
template <>
struct WiderOf<std::uint64_t> {
    using Type = Unsigned128;
};
template <>
struct WiderOf<std::int64_t> {
    using Type = Signed128;
};
template <class T>
using Wider = typename WiderOf<T>::Type;

template <class T>
T wrap_multiply(T a, T b) {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
template <class T>
T high_half(T a, T b) {
    return static_cast<T>(static_cast<Wider<T>>(static_cast<Wider<T>>(a) * b) >> (8 * sizeof(T)));
}
template <class T>
T wrap_add(T a, T b) {
    return static_cast<T>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b));
}
template <class T>
T wrap_subtract(T a, T b) {
    return static_cast<T>(static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b));
}

struct Add {
    template <class T>
    static T of(T a, T b) {
        return wrap_add(a, b);
    }
};
struct Subtract {
    template <class T>
    static T of(T a, T b) {
        return wrap_subtract(a, b);
    }
};
struct MultiplyLow {
    template <class T>
    static T of(T a, T b) {
        return wrap_multiply(a, b);
    }
};
struct MultiplyHigh {
    template <class T>
    static T of(T a, T b) {
        return high_half(a, b);
    }
};
/// Division by zero gives all ones, as GPUs do.
struct Divide {
    template <class T>
    static T of(T a, T b) {
        if (b == 0) return static_cast<T>(~T{0});
        if constexpr (std::is_signed_v<T>) {
            if (b == -1) return wrap_subtract(T{0}, a);
        }
        return static_cast<T>(a / b);
    }
};
struct Remainder {
    template <class T>
    static T of(T a, T b) {
        if (b == 0) return a;
        if constexpr (std::is_signed_v<T>) {
            if (b == -1) return 0;
        }
        return static_cast<T>(a % b);
    }
};
struct Minimum {
    template <class T>
    static T of(T a, T b) {
        return a < b ? a : b;
    }
};
struct Maximum {
    template <class T>
    static T of(T a, T b) {
        return a < b ? b : a;
    }
};
struct SaturatingAdd {
    template <class T>
    static T of(T a, T b) {
        const auto sum = static_cast<std::int64_t>(a) + static_cast<std::int64_t>(b);
        return static_cast<T>(sum > 2147483647      ? 2147483647
                              : sum < -2147483648LL ? -2147483648LL
                                                    : sum);
    }
};
struct SaturatingSubtract {
    template <class T>
    static T of(T a, T b) {
        const auto sum = static_cast<std::int64_t>(a) - static_cast<std::int64_t>(b);
        return static_cast<T>(sum > 2147483647      ? 2147483647
                              : sum < -2147483648LL ? -2147483648LL
                                                    : sum);
    }
};
template <class T>
std::int64_t low_24_bits(T a) {
    const auto low = static_cast<std::uint32_t>(a) << 8;
    return std::is_signed_v<T> ? static_cast<std::int32_t>(low) >> 8
                               : static_cast<std::int64_t>(low >> 8);
}
struct Multiply24Low {
    template <class T>
    static T of(T a, T b) {
        return static_cast<T>(low_24_bits(a) * low_24_bits(b));
    }
};
struct Multiply24High {
    template <class T>
    static T of(T a, T b) {
        return static_cast<T>((low_24_bits(a) * low_24_bits(b)) >> 16);
    }
};

struct Negate {
    template <class T>
    static T of(T a) {
        return wrap_subtract(T{0}, a);
    }
};
struct Absolute {
    template <class T>
    static T of(T a) {
        return a < T{0} ? wrap_subtract(T{0}, a) : a;
    }
};

struct MultiplyAddLow {
    template <class T>
    static T of(T a, T b, T c) {
        return wrap_add(wrap_multiply(a, b), c);
    }
};
struct MultiplyAddHigh {
    template <class T>
    static T of(T a, T b, T c) {
        return wrap_add(high_half(a, b), c);
    }
};
struct MultiplyAdd24Low {
    template <class T>
    static T of(T a, T b, T c) {
        return wrap_add(Multiply24Low::of(a, b), c);
    }
};
struct MultiplyAdd24High {
    template <class T>
    static T of(T a, T b, T c) {
        return wrap_add(Multiply24High::of(a, b), c);
    }
};
struct SaturatingMultiplyAddHigh {
    template <class T>
    static T of(T a, T b, T c) {
        return SaturatingAdd::of(high_half(a, b), c);
    }
};
struct AbsoluteDifference {
    template <class T>
    static T of(T a, T b, T c) {
        return wrap_add(a < b ? wrap_subtract(b, a) : wrap_subtract(a, b), c);
    }
};

template <class Op, class T>
void unary(Warp& warp, const Instruction& i) {
    const T* const a = warp.in<T>(i.a);
    each_lane<T>(warp, i.d, [=](unsigned lane) { return Op::of(a[lane]); });
}
template <class Op, class T>
void binary(Warp& warp, const Instruction& i) {
    const T* const a = warp.in<T>(i.a);
    const T* const b = warp.in<T>(i.b);
    each_lane<T>(warp, i.d, [=](unsigned lane) { return Op::of(a[lane], b[lane]); });
}
template <class Op, class T>
void ternary(Warp& warp, const Instruction& i) {
    const T* const a = warp.in<T>(i.a);
    const T* const b = warp.in<T>(i.b);
    const T* const c = warp.in<T>(i.c);
    each_lane<T>(warp, i.d, [=](unsigned lane) { return Op::of(a[lane], b[lane], c[lane]); });
}

/// Op where the sign does not matter comes once per size.
template <class Op>
Handler any_sign_binary(Type type) {
    switch (bytes_of(type)) {
        case 2:
            return &binary<Op, std::uint16_t>;
        case 4:
            return &binary<Op, std::uint32_t>;
        case 8:
            return &binary<Op, std::uint64_t>;
        default:
            return nullptr;
    }
}
template <class Op>
Handler signed_binary(Type type) {
    switch (type) {
        case Type::u16:
            return &binary<Op, std::uint16_t>;
        case Type::u32:
            return &binary<Op, std::uint32_t>;
        case Type::u64:
            return &binary<Op, std::uint64_t>;
        case Type::s16:
            return &binary<Op, std::int16_t>;
        case Type::s32:
            return &binary<Op, std::int32_t>;
        case Type::s64:
            return &binary<Op, std::int64_t>;
        default:
            return nullptr;
    }
}
template <class Op>
Handler signed_unary(Type type) {
    switch (type) {
        case Type::s16:
            return &unary<Op, std::int16_t>;
        case Type::s32:
            return &unary<Op, std::int32_t>;
        case Type::s64:
            return &unary<Op, std::int64_t>;
        default:
            return nullptr;
    }
}
template <class Op>
Handler signed_ternary(Type type) {
    switch (type) {
        case Type::u16:
            return &ternary<Op, std::uint16_t>;
        case Type::u32:
            return &ternary<Op, std::uint32_t>;
        case Type::u64:
            return &ternary<Op, std::uint64_t>;
        case Type::s16:
            return &ternary<Op, std::int16_t>;
        case Type::s32:
            return &ternary<Op, std::int32_t>;
        case Type::s64:
            return &ternary<Op, std::int64_t>;
        default:
            return nullptr;
    }
}
template <class Op>
Handler word_binary(Type type) {
    return type == Type::u32   ? &binary<Op, std::uint32_t>
           : type == Type::s32 ? &binary<Op, std::int32_t>
                               : nullptr;
}
template <class Op>
Handler word_ternary(Type type) {
    return type == Type::u32   ? &ternary<Op, std::uint32_t>
           : type == Type::s32 ? &ternary<Op, std::int32_t>
                               : nullptr;
}
template <class Op>
Handler s32_only(Type type) {
    return type == Type::s32 ? &binary<Op, std::int32_t> : nullptr;
}

struct Named {
    std::string_view name;
    Handler (*find)(Type);
};

constexpr Named integer_table[] = {
    {"add", &any_sign_binary<Add>},
    {"add.sat", &s32_only<SaturatingAdd>},
    {"sub", &any_sign_binary<Subtract>},
    {"sub.sat", &s32_only<SaturatingSubtract>},
    {"mul.lo", &any_sign_binary<MultiplyLow>},
    {"mul.hi", &signed_binary<MultiplyHigh>},
    {"mul24.lo", &word_binary<Multiply24Low>},
    {"mul24.hi", &word_binary<Multiply24High>},
    {"mad.lo", &signed_ternary<MultiplyAddLow>},
    {"mad.hi", &signed_ternary<MultiplyAddHigh>},
    {"mad.hi.sat",
     [](Type type) -> Handler {
         return type == Type::s32 ? &ternary<SaturatingMultiplyAddHigh, std::int32_t> : nullptr;
     }},
    {"mad24.lo", &word_ternary<MultiplyAdd24Low>},
    {"mad24.hi", &word_ternary<MultiplyAdd24High>},
    {"sad", &signed_ternary<AbsoluteDifference>},
    {"div", &signed_binary<Divide>},
    {"rem", &signed_binary<Remainder>},
    {"min", &signed_binary<Minimum>},
    {"max", &signed_binary<Maximum>},
    {"neg", &signed_unary<Negate>},
    {"abs", &signed_unary<Absolute>},
};

// ---- products twice as wide

template <class T, bool add>
void wide(Warp& warp, const Instruction& i) {
    using W = Wider<T>;
    const T* const a = warp.in<T>(i.a);
    const T* const b = warp.in<T>(i.b);
    if constexpr (add) {
        const W* const c = warp.in<W>(i.c);
        each_lane<W>(warp, i.d, [=](unsigned lane) {
            return wrap_add(static_cast<W>(static_cast<W>(a[lane]) * static_cast<W>(b[lane])),
                            c[lane]);
        });
    } else {
        each_lane<W>(warp, i.d, [=](unsigned lane) {
            return static_cast<W>(static_cast<W>(a[lane]) * static_cast<W>(b[lane]));
        });
    }
}

template <bool add>
Handler wide_of(Type type) {
    switch (type) {
        case Type::u16:
            return &wide<std::uint16_t, add>;
        case Type::s16:
            return &wide<std::int16_t, add>;
        case Type::u32:
            return &wide<std::uint32_t, add>;
        case Type::s32:
            return &wide<std::int32_t, add>;
        default:
            return nullptr;
    }
}

// ---- carries

/// sum = a + b + carry (or a - b - borrow), with the carry out of it in CC.CF if i.flag.
template <class T, bool subtract, bool with_carry>
void add_with_carry(Warp& warp, const Instruction& i) {
    const T* const a = warp.in<T>(i.a);
    const T* const b = warp.in<T>(i.b);
    T* const d = warp.out<T>(i.d);
    each_active(warp.exec, [&](unsigned lane) {
        const T carry = with_carry ? static_cast<T>(warp.carry >> lane & 1u) : T{0};
        const T x = a[lane], y = b[lane];
        const T partial = subtract ? static_cast<T>(x - y) : static_cast<T>(x + y);
        d[lane] = subtract ? static_cast<T>(partial - carry) : static_cast<T>(partial + carry);
        const bool out = subtract ? (x < y || partial < carry)
                                  : (partial < x || static_cast<T>(partial + carry) < partial);
        if (i.flag)
            warp.carry = (warp.carry & ~(1u << lane)) | static_cast<std::uint32_t>(out) << lane;
    });
}

template <class T, bool high, bool with_carry>
void multiply_with_carry(Warp& warp, const Instruction& i) {
    using U = Unsigned<T>;
    const T* const a = warp.in<T>(i.a);
    const T* const b = warp.in<T>(i.b);
    const U* const c = warp.in<U>(i.c);
    U* const d = warp.out<U>(i.d);
    each_active(warp.exec, [&](unsigned lane) {
        const U carry = with_carry ? static_cast<U>(warp.carry >> lane & 1u) : U{0};
        const U product =
            static_cast<U>(high ? high_half(a[lane], b[lane]) : wrap_multiply(a[lane], b[lane]));
        const U partial = static_cast<U>(product + c[lane]);
        const U sum = static_cast<U>(partial + carry);
        const bool out = partial < product || sum < partial;
        d[lane] = sum;
        if (i.flag)
            warp.carry = (warp.carry & ~(1u << lane)) | static_cast<std::uint32_t>(out) << lane;
    });
}

template <bool subtract, bool with_carry>
Handler carry_add_of(Type type) {
    return bytes_of(type) == 8 ? &add_with_carry<std::uint64_t, subtract, with_carry>
                               : &add_with_carry<std::uint32_t, subtract, with_carry>;
}
template <bool high, bool with_carry>
Handler carry_multiply_of(Type type) {
    switch (type) {
        case Type::u32:
            return &multiply_with_carry<std::uint32_t, high, with_carry>;
        case Type::s32:
            return &multiply_with_carry<std::int32_t, high, with_carry>;
        case Type::u64:
            return &multiply_with_carry<std::uint64_t, high, with_carry>;
        case Type::s64:
            return &multiply_with_carry<std::int64_t, high, with_carry>;
        default:
            return nullptr;
    }
}

constexpr Named carry_table[] = {
    {"add", &carry_add_of<false, false>},         {"addc", &carry_add_of<false, true>},
    {"sub", &carry_add_of<true, false>},          {"subc", &carry_add_of<true, true>},
    {"mad.lo", &carry_multiply_of<false, false>}, {"madc.lo", &carry_multiply_of<false, true>},
    {"mad.hi", &carry_multiply_of<true, false>},  {"madc.hi", &carry_multiply_of<true, true>},
};

}  // namespace

Handler integer_operation(std::string_view name, Type type) {
    for (const Named& entry : integer_table) {
        if (entry.name == name) return entry.find(type);
    }
    return nullptr;
}

Handler wide_operation(std::string_view name, Type type) {
    return name == "mul" ? wide_of<false>(type) : name == "mad" ? wide_of<true>(type) : nullptr;
}

Handler carry_operation(std::string_view name, Type type) {
    const unsigned bytes = bytes_of(type);
    if (bytes != 4 && bytes != 8) return nullptr;
    for (const Named& entry : carry_table) {
        if (entry.name == name) return entry.find(type);
    }
    return nullptr;
}

}  // namespace vgpu::ptx
