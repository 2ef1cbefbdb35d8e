// Comparison, selection, predicates and moves.
#include "vgpu/ptx/lanes.hpp"
#include "vgpu/ptx/operations.hpp"
#include "vgpu/ptx/small_floats.hpp"

namespace vgpu::ptx {
namespace {

struct Equal {
    template <class T>
    static bool of(T a, T b) {
        return a == b;
    }
};
/// For floats: of two numbers.
struct NotEqual {
    template <class T>
    static bool of(T a, T b) {
        if constexpr (std::is_integral_v<T>) return a != b;
        return a < b || a > b;
    }
};
struct Less {
    template <class T>
    static bool of(T a, T b) {
        return a < b;
    }
};
struct LessEqual {
    template <class T>
    static bool of(T a, T b) {
        return a <= b;
    }
};
struct Greater {
    template <class T>
    static bool of(T a, T b) {
        return a > b;
    }
};
struct GreaterEqual {
    template <class T>
    static bool of(T a, T b) {
        return a >= b;
    }
};
struct Ordered {
    template <class T>
    static bool of(T a, T b) {
        return a == a && b == b;
    }
};
/// The unordered forms hold for NaNs: they are what their opposites are not.
template <class Opposite>
struct Not {
    template <class T>
    static bool of(T a, T b) {
        return !Opposite::of(a, b);
    }
};

template <class Op, class T>
std::uint32_t compared(const Warp& warp, const Instruction& i) {
    const T* const a = warp.in<T>(i.a);
    const T* const b = warp.in<T>(i.b);
    return lanes_where([=](unsigned lane) { return Op::of(a[lane], b[lane]); });
}
template <class Op>
std::uint32_t compared_flushed(const Warp& warp, const Instruction& i) {
    const float* const a = warp.in<float>(i.a);
    const float* const b = warp.in<float>(i.b);
    const auto flush = [](float x) { return x < 0x1p-126f && x > -0x1p-126f ? 0.0f : x; };
    return lanes_where([=](unsigned lane) { return Op::of(flush(a[lane]), flush(b[lane])); });
}
/// Of 16-bit floats; with two in a register, the lower halves and in the next predicate the upper.
template <class Op, FloatFormat format, class T, unsigned shift>
std::uint32_t compared_halves(const Warp& warp, const Instruction& i) {
    const T* const a = warp.in<T>(i.a);
    const T* const b = warp.in<T>(i.b);
    return lanes_where([=](unsigned lane) {
        return Op::of(widen<format>(a[lane] >> shift & 0xffff),
                      widen<format>(b[lane] >> shift & 0xffff));
    });
}

using Comparison = std::uint32_t (*)(const Warp&, const Instruction&);

/// setp: d = comparison [op c]; list[0], when there, gets the opposite. mode: 0 none, 1 and, 2 or,
/// 3 xor; flag: c is negated.
template <Comparison comparison>
void set_predicates(Warp& warp, const Instruction& i) {
    const std::uint32_t result = comparison(warp, i);
    const std::uint32_t other = i.mode == 0 ? 0 : predicate(warp, i.c) ^ (i.flag ? all_lanes : 0u);
    const auto combine = [&](std::uint32_t value) {
        return i.mode == 1   ? value & other
               : i.mode == 2 ? value | other
               : i.mode == 3 ? value ^ other
                             : value;
    };
    if (i.d != no_slot) set_predicate(warp, i.d, combine(result));
    if (i.list != nullptr) set_predicate(warp, i.list[0], combine(~result));
}

/// setp of pairs: d for the lower halves, list[0] for the upper.
template <Comparison low, Comparison high>
void set_pair_predicates(Warp& warp, const Instruction& i) {
    const std::uint32_t results[2] = {low(warp, i), high(warp, i)};
    if (i.d != no_slot) set_predicate(warp, i.d, results[0]);
    if (i.list != nullptr) set_predicate(warp, i.list[0], results[1]);
}

/// set: value holds the bits for true.
template <Comparison comparison, class T>
void set_bits(Warp& warp, const Instruction& i) {
    std::uint32_t result = comparison(warp, i);
    const std::uint32_t other = i.mode == 0 ? 0 : predicate(warp, i.c) ^ (i.flag ? all_lanes : 0u);
    result = i.mode == 1   ? result & other
             : i.mode == 2 ? result | other
             : i.mode == 3 ? result ^ other
                           : result;
    const T yes = static_cast<T>(i.value);
    each_lane<T>(warp, i.d,
                 [=](unsigned lane) { return (result & lane_bit[lane]) != 0 ? yes : T{0}; });
}

/// set of pairs: value holds the bits of one half.
template <Comparison low, Comparison high>
void set_pair_bits(Warp& warp, const Instruction& i) {
    const std::uint32_t lower = low(warp, i), upper = high(warp, i);
    const auto yes = static_cast<std::uint32_t>(i.value);
    each_lane<std::uint32_t>(warp, i.d, [=](unsigned lane) {
        return ((lower & lane_bit[lane]) != 0 ? yes : 0u) |
               ((upper & lane_bit[lane]) != 0 ? yes << 16 : 0u);
    });
}

enum class Use { predicate, bits16, bits32 };

template <Comparison comparison>
Handler used(Use use) {
    switch (use) {
        case Use::predicate:
            return &set_predicates<comparison>;
        case Use::bits16:
            return &set_bits<comparison, std::uint16_t>;
        case Use::bits32:
            return &set_bits<comparison, std::uint32_t>;
    }
    return nullptr;
}
template <class Op, FloatFormat format>
Handler used_pair(Use use) {
    constexpr Comparison low = &compared_halves<Op, format, std::uint32_t, 0>;
    constexpr Comparison high = &compared_halves<Op, format, std::uint32_t, 16>;
    return use == Use::predicate ? &set_pair_predicates<low, high> : &set_pair_bits<low, high>;
}

template <class Op>
Handler compare_of(Type type, bool ftz, Use use) {
    switch (type) {
        case Type::b16:
        case Type::u16:
            return used<&compared<Op, std::uint16_t>>(use);
        case Type::b32:
        case Type::u32:
            return used<&compared<Op, std::uint32_t>>(use);
        case Type::b64:
        case Type::u64:
            return used<&compared<Op, std::uint64_t>>(use);
        case Type::s16:
            return used<&compared<Op, std::int16_t>>(use);
        case Type::s32:
            return used<&compared<Op, std::int32_t>>(use);
        case Type::s64:
            return used<&compared<Op, std::int64_t>>(use);
        default:
            break;
    }
    switch (type) {
        case Type::f32:
            return ftz ? used<&compared_flushed<Op>>(use) : used<&compared<Op, float>>(use);
        case Type::f64:
            return used<&compared<Op, double>>(use);
        case Type::f16:
            return used<&compared_halves<Op, f16_format, std::uint16_t, 0>>(use);
        case Type::bf16:
            return used<&compared_halves<Op, bf16_format, std::uint16_t, 0>>(use);
        case Type::f16x2:
            return used_pair<Op, f16_format>(use);
        case Type::bf16x2:
            return used_pair<Op, bf16_format>(use);
        default:
            return nullptr;
    }
}

struct NamedComparison {
    std::string_view name;
    Handler (*find)(Type, bool, Use);
};

constexpr NamedComparison comparison_table[] = {
    {"eq", &compare_of<Equal>},
    {"ne", &compare_of<NotEqual>},
    {"lt", &compare_of<Less>},
    {"le", &compare_of<LessEqual>},
    {"gt", &compare_of<Greater>},
    {"ge", &compare_of<GreaterEqual>},
    {"lo", &compare_of<Less>},
    {"ls", &compare_of<LessEqual>},
    {"hi", &compare_of<Greater>},
    {"hs", &compare_of<GreaterEqual>},
    {"num", &compare_of<Ordered>},
    {"nan", &compare_of<Not<Ordered>>},
    {"equ", &compare_of<Not<NotEqual>>},
    {"neu", &compare_of<Not<Equal>>},
    {"ltu", &compare_of<Not<GreaterEqual>>},
    {"leu", &compare_of<Not<Greater>>},
    {"gtu", &compare_of<Not<LessEqual>>},
    {"geu", &compare_of<Not<Less>>},
};

Handler find_comparison(std::string_view name, Type type, bool ftz, Use use) {
    for (const NamedComparison& entry : comparison_table) {
        if (entry.name == name) return entry.find(type, ftz, use);
    }
    return nullptr;
}

// ---- selection and moves

template <class T>
void select(Warp& warp, const Instruction& i) {
    const T* const a = warp.in<T>(i.a);
    const T* const b = warp.in<T>(i.b);
    const std::uint32_t chosen = predicate(warp, i.c) ^ (i.flag ? all_lanes : 0u);
    each_lane<T>(warp, i.d,
                 [=](unsigned lane) { return (chosen & lane_bit[lane]) != 0 ? a[lane] : b[lane]; });
}

/// slct: a where c >= 0.
template <class T, class C>
void select_by_sign(Warp& warp, const Instruction& i) {
    const T* const a = warp.in<T>(i.a);
    const T* const b = warp.in<T>(i.b);
    const C* const c = warp.in<C>(i.c);
    each_lane<T>(warp, i.d, [=](unsigned lane) { return c[lane] >= 0 ? a[lane] : b[lane]; });
}

template <class T>
void move(Warp& warp, const Instruction& i) {
    const T* const a = warp.in<T>(i.a);
    each_lane<T>(warp, i.d, [=](unsigned lane) { return a[lane]; });
}

template <class T, class Part, unsigned count>
void pack(Warp& warp, const Instruction& i) {
    const Part* parts[count];
    for (unsigned n = 0; n < count; ++n) parts[n] = warp.in<Part>(i.list[n]);
    T result[warp_lanes];
    for (unsigned lane = 0; lane < warp_lanes; ++lane) {
        T whole = 0;
        for (unsigned n = 0; n < count; ++n) {
            const T part = parts[n][lane];
            whole = static_cast<T>(whole | static_cast<T>(part << (8 * sizeof(Part) * n)));
        }
        result[lane] = whole;
    }
    each_lane<T>(warp, i.d, [&](unsigned lane) { return result[lane]; });
}

template <class T, class Part, unsigned count>
void unpack(Warp& warp, const Instruction& i) {
    T whole[warp_lanes];
    std::memcpy(whole, warp.in<T>(i.a), sizeof whole);
    for (unsigned n = 0; n < count; ++n) {
        if (i.list[n] == no_slot) continue;
        each_lane<Part>(warp, i.list[n], [&](unsigned lane) {
            return static_cast<Part>(whole[lane] >> (8 * sizeof(Part) * n));
        });
    }
}

void predicate_and(Warp& w, const Instruction& i) {
    set_predicate(w, i.d, predicate(w, i.a) & predicate(w, i.b));
}
void predicate_or(Warp& w, const Instruction& i) {
    set_predicate(w, i.d, predicate(w, i.a) | predicate(w, i.b));
}
void predicate_xor(Warp& w, const Instruction& i) {
    set_predicate(w, i.d, predicate(w, i.a) ^ predicate(w, i.b));
}
void predicate_not(Warp& w, const Instruction& i) {
    set_predicate(w, i.d, ~predicate(w, i.a));
}
void predicate_move(Warp& w, const Instruction& i) {
    set_predicate(w, i.d, predicate(w, i.a));
}

}  // namespace

Handler compare_operation(std::string_view comparison, Type type, bool ftz) {
    return find_comparison(comparison, type, ftz, Use::predicate);
}

Handler set_operation(std::string_view comparison, Type source, Type result, bool ftz) {
    return find_comparison(comparison, source, ftz,
                           bytes_of(result) == 2 ? Use::bits16 : Use::bits32);
}

Handler select_operation(unsigned bytes) {
    return bytes == 2   ? &select<std::uint16_t>
           : bytes == 4 ? &select<std::uint32_t>
           : bytes == 8 ? &select<std::uint64_t>
                        : nullptr;
}

Handler slct_operation(Type type, Type condition, bool) {
    const bool real = condition == Type::f32;
    switch (bytes_of(type)) {
        case 2:
            return real ? &select_by_sign<std::uint16_t, float>
                        : &select_by_sign<std::uint16_t, std::int32_t>;
        case 4:
            return real ? &select_by_sign<std::uint32_t, float>
                        : &select_by_sign<std::uint32_t, std::int32_t>;
        case 8:
            return real ? &select_by_sign<std::uint64_t, float>
                        : &select_by_sign<std::uint64_t, std::int32_t>;
        default:
            return nullptr;
    }
}

Handler predicate_operation(std::string_view name) {
    return name == "and"   ? &predicate_and
           : name == "or"  ? &predicate_or
           : name == "xor" ? &predicate_xor
           : name == "not" ? &predicate_not
           : name == "mov" ? &predicate_move
                           : nullptr;
}

Handler move_operation(unsigned bytes) {
    return bytes == 2   ? &move<std::uint16_t>
           : bytes == 4 ? &move<std::uint32_t>
           : bytes == 8 ? &move<std::uint64_t>
                        : nullptr;
}

Handler pack_operation(unsigned count, unsigned bytes) {
    if (count == 2 && bytes == 4) return &pack<std::uint32_t, std::uint16_t, 2>;
    if (count == 2 && bytes == 8) return &pack<std::uint64_t, std::uint32_t, 2>;
    if (count == 4 && bytes == 8) return &pack<std::uint64_t, std::uint16_t, 4>;
    return nullptr;
}

Handler unpack_operation(unsigned count, unsigned bytes) {
    if (count == 2 && bytes == 4) return &unpack<std::uint32_t, std::uint16_t, 2>;
    if (count == 2 && bytes == 8) return &unpack<std::uint64_t, std::uint32_t, 2>;
    if (count == 4 && bytes == 8) return &unpack<std::uint64_t, std::uint16_t, 4>;
    return nullptr;
}

}  // namespace vgpu::ptx
