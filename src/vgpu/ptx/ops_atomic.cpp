// atom and red.
#include <cmath>

#include "vgpu/ptx/addresses.hpp"
#include "vgpu/ptx/operations.hpp"
#include "vgpu/ptx/small_floats.hpp"

namespace vgpu::ptx {
namespace {

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;

struct AtomicAdd {
    template <class T>
    static T of(T old, T operand) {
        if constexpr (std::is_integral_v<T>)
            return static_cast<T>(static_cast<std::uint64_t>(old) +
                                  static_cast<std::uint64_t>(operand));
        else
            return old + operand;
    }
};
struct AtomicMinimum {
    template <class T>
    static T of(T old, T operand) {
        return operand < old ? operand : old;
    }
};
struct AtomicMaximum {
    template <class T>
    static T of(T old, T operand) {
        return operand > old ? operand : old;
    }
};
struct AtomicAnd {
    template <class T>
    static T of(T old, T operand) {
        return old & operand;
    }
};
struct AtomicOr {
    template <class T>
    static T of(T old, T operand) {
        return old | operand;
    }
};
struct AtomicXor {
    template <class T>
    static T of(T old, T operand) {
        return old ^ operand;
    }
};
struct AtomicExchange {
    template <class T>
    static T of(T, T operand) {
        return operand;
    }
};
struct AtomicIncrement {
    template <class T>
    static T of(T old, T operand) {
        return old >= operand ? 0 : static_cast<T>(old + 1);
    }
};
struct AtomicDecrement {
    template <class T>
    static T of(T old, T operand) {
        return old == 0 || old > operand ? operand : static_cast<T>(old - 1);
    }
};

/// Sums of 16-bit floats, one or two in a word.
template <FloatFormat format>
struct HalfSum {
    static std::uint32_t one(std::uint32_t a, std::uint32_t b) {
        return narrow<format>(sum_for_rounding(widen<format>(a), widen<format>(b)),
                              Rounding::nearest, false);
    }
    template <class T>
    static T of(T old, T operand) {
        std::uint32_t sum = one(old & 0xffff, operand & 0xffff);
        if constexpr (sizeof(T) == 4) sum |= one(old >> 16, operand >> 16) << 16;
        return static_cast<T>(sum);
    }
};

template <class Op, class T>
BitsOf<T> update(BitsOf<T>* at, T operand) {
    BitsOf<T> old = __atomic_load_n(at, __ATOMIC_RELAXED);
    for (;;) {
        const auto wanted = std::bit_cast<BitsOf<T>>(Op::of(std::bit_cast<T>(old), operand));
        if (__atomic_compare_exchange_n(at, &old, wanted, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED))
            return old;
    }
}

/// A failing compare-and-swap, or an update that changes nothing, may be a poll.
template <class T>
void finish_atomic(Warp& warp, const Addresses& addresses, const T* old, bool changed) {
    const auto first = static_cast<unsigned>(std::countr_zero(warp.exec));
    if (!changed) warp.note_poll(warp.pc, addresses.at[first], old[first]);
    warp.block->context().hooks->preemption_point();
}

template <class Op, class T, Space space>
void atomic(Warp& warp, const Instruction& i) {
    Addresses addresses;
    find_addresses<space>(warp, i.a, i.flag, i.value, sizeof(T), AccessKind::update, addresses);
    const T* const operand = warp.in<T>(i.b);
    BitsOf<T> old[warp_lanes] = {};
    bool changed = false;
    each_active(warp.exec, [&](unsigned lane) {
        auto* const at = addresses.pointer<BitsOf<T>>(lane);
        old[lane] = update<Op, T>(at, operand[lane]);
        changed |= std::bit_cast<BitsOf<T>>(Op::of(std::bit_cast<T>(old[lane]), operand[lane])) !=
                   old[lane];
    });
    if (i.d != no_slot) each_lane<BitsOf<T>>(warp, i.d, [&](unsigned lane) { return old[lane]; });
    finish_atomic(warp, addresses, old, changed);
}

template <class T, Space space>
void compare_and_swap(Warp& warp, const Instruction& i) {
    Addresses addresses;
    find_addresses<space>(warp, i.a, i.flag, i.value, sizeof(T), AccessKind::update, addresses);
    const T* const expected = warp.in<T>(i.b);
    const T* const wanted = warp.in<T>(i.c);
    T old[warp_lanes] = {};
    bool changed = false;
    each_active(warp.exec, [&](unsigned lane) {
        old[lane] = expected[lane];
        changed |= __atomic_compare_exchange_n(addresses.pointer<T>(lane), &old[lane], wanted[lane],
                                               false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    });
    if (i.d != no_slot) each_lane<T>(warp, i.d, [&](unsigned lane) { return old[lane]; });
    finish_atomic(warp, addresses, old, changed);
}

template <class Op, Space space>
Handler sized_atomic(Type type) {
    switch (bytes_of(type)) {
        case 4:
            return &atomic<Op, std::uint32_t, space>;
        case 8:
            return &atomic<Op, std::uint64_t, space>;
        default:
            return nullptr;
    }
}
template <class Op, Space space>
Handler signed_atomic(Type type) {
    switch (type) {
        case Type::u32:
            return &atomic<Op, std::uint32_t, space>;
        case Type::s32:
            return &atomic<Op, std::int32_t, space>;
        case Type::u64:
            return &atomic<Op, std::uint64_t, space>;
        case Type::s64:
            return &atomic<Op, std::int64_t, space>;
        default:
            return nullptr;
    }
}

template <Space space>
Handler add_of(Type type) {
    switch (type) {
        case Type::f32:
            return &atomic<AtomicAdd, float, space>;
        case Type::f64:
            return &atomic<AtomicAdd, double, space>;
        case Type::f16:
            return &atomic<HalfSum<f16_format>, std::uint16_t, space>;
        case Type::f16x2:
            return &atomic<HalfSum<f16_format>, std::uint32_t, space>;
        case Type::bf16:
            return &atomic<HalfSum<bf16_format>, std::uint16_t, space>;
        case Type::bf16x2:
            return &atomic<HalfSum<bf16_format>, std::uint32_t, space>;
        default:
            return is_float(type) ? nullptr : sized_atomic<AtomicAdd, space>(type);
    }
}

template <Space space>
Handler atomic_of(std::string_view name, Type type) {
    if (name == "add") return add_of<space>(type);
    if (name == "min") return signed_atomic<AtomicMinimum, space>(type);
    if (name == "max") return signed_atomic<AtomicMaximum, space>(type);
    if (is_float(type)) return nullptr;
    if (name == "and") return sized_atomic<AtomicAnd, space>(type);
    if (name == "or") return sized_atomic<AtomicOr, space>(type);
    if (name == "xor") return sized_atomic<AtomicXor, space>(type);
    if (name == "exch") return sized_atomic<AtomicExchange, space>(type);
    if (name == "inc") return sized_atomic<AtomicIncrement, space>(type);
    if (name == "dec") return sized_atomic<AtomicDecrement, space>(type);
    if (name != "cas") return nullptr;
    switch (bytes_of(type)) {
        case 2:
            return &compare_and_swap<std::uint16_t, space>;
        case 4:
            return &compare_and_swap<std::uint32_t, space>;
        case 8:
            return &compare_and_swap<std::uint64_t, space>;
        default:
            return nullptr;
    }
}

}  // namespace

Handler atomic_operation(std::string_view name, Space space, Type type) {
    return space == Space::shared ? atomic_of<Space::shared>(name, type)
                                  : atomic_of<Space::generic>(name, type);
}

}  // namespace vgpu::ptx
