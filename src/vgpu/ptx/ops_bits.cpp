// Logic, shifts, bit fields and bytes.
#include "vgpu/ptx/lanes.hpp"
#include "vgpu/ptx/operations.hpp"

namespace vgpu::ptx {
namespace {

template <class T, class F>
void bits_unary(Warp& warp, const Instruction& i, F f) {
    const T* const a = warp.in<T>(i.a);
    each_lane<T>(warp, i.d, [=](unsigned lane) { return static_cast<T>(f(a[lane])); });
}
template <class T, class F>
void bits_binary(Warp& warp, const Instruction& i, F f) {
    const T* const a = warp.in<T>(i.a);
    const T* const b = warp.in<T>(i.b);
    each_lane<T>(warp, i.d, [=](unsigned lane) { return static_cast<T>(f(a[lane], b[lane])); });
}

template <class T>
void bit_and(Warp& w, const Instruction& i) {
    bits_binary<T>(w, i, [](T a, T b) { return a & b; });
}
template <class T>
void bit_or(Warp& w, const Instruction& i) {
    bits_binary<T>(w, i, [](T a, T b) { return a | b; });
}
template <class T>
void bit_xor(Warp& w, const Instruction& i) {
    bits_binary<T>(w, i, [](T a, T b) { return a ^ b; });
}
template <class T>
void bit_not(Warp& w, const Instruction& i) {
    bits_unary<T>(w, i, [](T a) { return ~a; });
}
template <class T>
void logical_not(Warp& w, const Instruction& i) {
    bits_unary<T>(w, i, [](T a) { return a == 0; });
}

/// Shift counts are 32 bits wide whatever the type; large ones shift everything out.
template <class T, bool left>
void shift(Warp& warp, const Instruction& i) {
    constexpr std::uint32_t width = 8 * sizeof(T);
    const T* const a = warp.in<T>(i.a);
    const std::uint32_t* const b = warp.in<std::uint32_t>(i.b);
    each_lane<T>(warp, i.d, [=](unsigned lane) {
        const std::uint32_t count = b[lane];
        if constexpr (left) {
            const T shifted = static_cast<T>(a[lane] << (count & (width - 1)));
            return count < width ? shifted : T{0};
        } else if constexpr (std::is_signed_v<T>) {
            return static_cast<T>(a[lane] >> (count < width ? count : width - 1));
        } else {
            const T shifted = static_cast<T>(a[lane] >> (count & (width - 1)));
            return count < width ? shifted : T{0};
        }
    });
}

/// shf: 64 bits of b:a shifted. mode 0: wrap, 1: clamp.
template <bool left>
void funnel_shift(Warp& warp, const Instruction& i) {
    const auto* const a = warp.in<std::uint32_t>(i.a);
    const auto* const b = warp.in<std::uint32_t>(i.b);
    const auto* const c = warp.in<std::uint32_t>(i.c);
    const bool clamp = i.mode == 1;
    each_lane<std::uint32_t>(warp, i.d, [=](unsigned lane) {
        const std::uint32_t n = clamp ? (c[lane] < 32 ? c[lane] : 32) : c[lane] & 31;
        const std::uint64_t both = std::uint64_t{b[lane]} << 32 | a[lane];
        return static_cast<std::uint32_t>(left ? both << n >> 32 : both >> n);
    });
}

void population(Warp& warp, const Instruction& i) {
    const auto* const a = warp.in<std::uint32_t>(i.a);
    each_lane<std::uint32_t>(
        warp, i.d, [=](unsigned l) { return static_cast<std::uint32_t>(std::popcount(a[l])); });
}
void population64(Warp& warp, const Instruction& i) {
    const auto* const a = warp.in<std::uint64_t>(i.a);
    each_lane<std::uint32_t>(
        warp, i.d, [=](unsigned l) { return static_cast<std::uint32_t>(std::popcount(a[l])); });
}
template <class T>
void leading_zeros(Warp& warp, const Instruction& i) {
    const T* const a = warp.in<T>(i.a);
    each_lane<std::uint32_t>(
        warp, i.d, [=](unsigned l) { return static_cast<std::uint32_t>(std::countl_zero(a[l])); });
}

/// Position of the highest bit that differs from the sign; ~0 if none. mode 1: as a shift amount.
template <class T>
void find_bit(Warp& warp, const Instruction& i) {
    using U = std::make_unsigned_t<T>;
    const T* const a = warp.in<T>(i.a);
    const bool amount = i.mode == 1;
    each_lane<std::uint32_t>(warp, i.d, [=](unsigned lane) {
        const U bits = static_cast<U>(std::is_signed_v<T> && a[lane] < 0 ? ~a[lane] : a[lane]);
        const auto zeros = static_cast<std::uint32_t>(std::countl_zero(bits));
        constexpr std::uint32_t width = 8 * sizeof(T);
        if (bits == 0) return ~0u;
        return amount ? zeros : width - 1 - zeros;
    });
}

template <class T>
T reversed(T a) {
    T result = 0;
    for (unsigned bit = 0; bit < 8 * sizeof(T); ++bit) {
        result = static_cast<T>(result << 1 | (a & 1));
        a = static_cast<T>(a >> 1);
    }
    return result;
}
template <class T>
void reverse_bits(Warp& w, const Instruction& i) {
    bits_unary<T>(w, i, [](T a) { return reversed(a); });
}

/// bfe: the field of c bits from bit b of a.
template <class T>
void extract_field(Warp& warp, const Instruction& i) {
    using U = std::make_unsigned_t<T>;
    constexpr std::uint32_t width = 8 * sizeof(T);
    const T* const a = warp.in<T>(i.a);
    const auto* const b = warp.in<std::uint32_t>(i.b);
    const auto* const c = warp.in<std::uint32_t>(i.c);
    each_lane<T>(warp, i.d, [=](unsigned lane) {
        const std::uint32_t begin = b[lane] & 0xff, length = c[lane] & 0xff;
        if (length == 0) return T{0};
        const U shifted = begin < width ? static_cast<U>(static_cast<U>(a[lane]) >> begin) : U{0};
        const U mask =
            length < width ? static_cast<U>((U{1} << length) - 1) : static_cast<U>(~U{0});
        U field = shifted & mask;
        if constexpr (std::is_signed_v<T>) {
            const std::uint32_t top =
                begin + length - 1 < width - 1 ? begin + length - 1 : width - 1;
            const bool negative = (static_cast<U>(a[lane]) >> top & 1) != 0;
            // Bits of the field beyond the top of the operand are copies of the sign.
            const std::uint32_t known = begin >= width ? 0 : top - begin + 1;
            if (negative && known < width) field |= static_cast<U>(~U{0} << known);
        }
        return static_cast<T>(field);
    });
}

/// bfi: a inserted into b at bit c, list[0] bits long.
template <class T>
void insert_field(Warp& warp, const Instruction& i) {
    constexpr std::uint32_t width = 8 * sizeof(T);
    const T* const a = warp.in<T>(i.a);
    const T* const b = warp.in<T>(i.b);
    const auto* const c = warp.in<std::uint32_t>(i.c);
    const auto* const n = warp.in<std::uint32_t>(i.list[0]);
    each_lane<T>(warp, i.d, [=](unsigned lane) {
        const std::uint32_t begin = c[lane] & 0xff, length = n[lane] & 0xff;
        const T ones = length < width ? static_cast<T>((T{1} << (length & (width - 1))) - 1)
                                      : static_cast<T>(~T{0});
        const T mask = begin < width ? static_cast<T>(ones << (begin & (width - 1))) : T{0};
        const T moved = begin < width ? static_cast<T>(a[lane] << (begin & (width - 1))) : T{0};
        return static_cast<T>((moved & mask) | (b[lane] & ~mask));
    });
}

/// bmsk: mode 0 clamp, 1 wrap.
void bit_mask(Warp& warp, const Instruction& i) {
    const auto* const a = warp.in<std::uint32_t>(i.a);
    const auto* const b = warp.in<std::uint32_t>(i.b);
    const bool wrapped = i.mode == 1;
    each_lane<std::uint32_t>(warp, i.d, [=](unsigned lane) {
        const std::uint32_t begin = wrapped ? a[lane] & 31 : a[lane];
        const std::uint32_t length = wrapped ? b[lane] & 31 : b[lane];
        if (begin >= 32 || length == 0) return 0u;
        const std::uint32_t ones = length >= 32 ? ~0u : (1u << length) - 1;
        return ones << begin;
    });
}

/// szext: sign- or zero-extends from bit b. mode 0 clamp, 1 wrap.
template <class T>
void extend_from_bit(Warp& warp, const Instruction& i) {
    const auto* const a = warp.in<std::uint32_t>(i.a);
    const auto* const b = warp.in<std::uint32_t>(i.b);
    const bool wrapped = i.mode == 1;
    each_lane<std::uint32_t>(warp, i.d, [=](unsigned lane) {
        const std::uint32_t n = wrapped ? b[lane] & 31 : b[lane];
        if (n >= 32) return a[lane];
        if (n == 0) return 0u;
        const std::uint32_t low = a[lane] & ((1u << n) - 1);
        const bool negative = std::is_signed_v<T> && (low >> (n - 1) & 1) != 0;
        return negative ? low | ~0u << n : low;
    });
}

/// lop3: value is the table of the function.
void logic3(Warp& warp, const Instruction& i) {
    const auto* const a = warp.in<std::uint32_t>(i.a);
    const auto* const b = warp.in<std::uint32_t>(i.b);
    const auto* const c = warp.in<std::uint32_t>(i.c);
    const auto table = static_cast<std::uint32_t>(i.value);
    std::uint32_t terms[8];
    for (unsigned bit = 0; bit < 8; ++bit) terms[bit] = 0u - (table >> bit & 1u);
    each_lane<std::uint32_t>(warp, i.d, [=](unsigned lane) {
        const std::uint32_t x = a[lane], y = b[lane], z = c[lane];
        return (terms[0] & ~x & ~y & ~z) | (terms[1] & ~x & ~y & z) | (terms[2] & ~x & y & ~z) |
               (terms[3] & ~x & y & z) | (terms[4] & x & ~y & ~z) | (terms[5] & x & ~y & z) |
               (terms[6] & x & y & ~z) | (terms[7] & x & y & z);
    });
}

std::uint32_t byte_of(std::uint64_t both, std::uint32_t selector) {
    const auto byte = static_cast<std::uint32_t>(both >> (8 * (selector & 7)) & 0xff);
    return (selector & 8) == 0 ? byte : (byte & 0x80) != 0 ? 0xffu : 0u;
}

/// The four selectors of prmt's special modes (1 and up).
std::uint32_t selectors_of(unsigned mode, std::uint32_t n) {
    n &= 3;
    switch (mode) {
        case 1:
            return n | (n + 1) << 4 | (n + 2) << 8 | (n + 3) << 12;  // f4e
        case 2:
            return n | ((n - 1) & 7) << 4 | ((n - 2) & 7) << 8 | ((n - 3) & 7) << 12;  // b4e
        case 3:
            return n * 0x1111;  // rc8
        case 4:
            return n | (n > 1 ? n : 1) << 4 | (n > 2 ? n : 2) << 8 | 3u << 12;  // ecl
        case 5:
            return (n < 1 ? n : 1) << 4 | (n < 2 ? n : 2) << 8 | n << 12;  // ecr
        default:
            return n > 1 ? 0x3232 : 0x1010;  // rc16
    }
}

void permute(Warp& warp, const Instruction& i) {
    const auto* const a = warp.in<std::uint32_t>(i.a);
    const auto* const b = warp.in<std::uint32_t>(i.b);
    const auto* const c = warp.in<std::uint32_t>(i.c);
    const unsigned mode = i.mode;
    each_lane<std::uint32_t>(warp, i.d, [=](unsigned lane) {
        const std::uint64_t both = std::uint64_t{b[lane]} << 32 | a[lane];
        const std::uint32_t n = mode == 0   ? c[lane]
                                : mode == 6 ? ((c[lane] & 1) != 0 ? 0x3232u : 0x1010u)
                                            : selectors_of(mode, c[lane]);
        return byte_of(both, n & 15) | byte_of(both, n >> 4 & 15) << 8 |
               byte_of(both, n >> 8 & 15) << 16 | byte_of(both, n >> 12 & 15) << 24;
    });
}

/// dp4a: value bit 0: a is signed, bit 1: b is.
void dot4(Warp& warp, const Instruction& i) {
    const auto* const a = warp.in<std::uint32_t>(i.a);
    const auto* const b = warp.in<std::uint32_t>(i.b);
    const auto* const c = warp.in<std::uint32_t>(i.c);
    const auto part = [](std::uint32_t word, unsigned n, bool is_signed) {
        const std::uint32_t byte = word >> (8 * n) & 0xff;
        return is_signed ? static_cast<std::int32_t>(static_cast<std::int8_t>(byte))
                         : static_cast<std::int32_t>(byte);
    };
    each_lane<std::uint32_t>(warp, i.d, [=, &i](unsigned lane) {
        std::uint32_t sum = c[lane];
        for (unsigned n = 0; n < 4; ++n)
            sum += static_cast<std::uint32_t>(part(a[lane], n, (i.value & 1) != 0) *
                                              part(b[lane], n, (i.value & 2) != 0));
        return sum;
    });
}

/// dp2a: value as dp4a, mode 1: the upper bytes of b.
void dot2(Warp& warp, const Instruction& i) {
    const auto* const a = warp.in<std::uint32_t>(i.a);
    const auto* const b = warp.in<std::uint32_t>(i.b);
    const auto* const c = warp.in<std::uint32_t>(i.c);
    each_lane<std::uint32_t>(warp, i.d, [=, &i](unsigned lane) {
        std::uint32_t sum = c[lane];
        for (unsigned n = 0; n < 2; ++n) {
            const std::uint32_t half = a[lane] >> (16 * n) & 0xffff;
            const std::uint32_t byte = b[lane] >> (8 * (n + 2u * i.mode)) & 0xff;
            const std::int32_t x = (i.value & 1) != 0 ? static_cast<std::int16_t>(half)
                                                      : static_cast<std::int32_t>(half);
            const std::int32_t y = (i.value & 2) != 0 ? static_cast<std::int8_t>(byte)
                                                      : static_cast<std::int32_t>(byte);
            sum += static_cast<std::uint32_t>(x) * static_cast<std::uint32_t>(y);
        }
        return sum;
    });
}

/// fns: the c-th set bit from bit b.
void find_nth_set(Warp& warp, const Instruction& i) {
    const auto* const a = warp.in<std::uint32_t>(i.a);
    const auto* const b = warp.in<std::uint32_t>(i.b);
    const auto* const c = warp.in<std::int32_t>(i.c);
    each_lane<std::uint32_t>(warp, i.d, [=](unsigned lane) {
        const std::int64_t n = c[lane];
        auto position = static_cast<std::int64_t>(static_cast<std::int32_t>(b[lane]));
        std::int64_t found = 0;
        const std::int64_t step = n < 0 ? -1 : 1;
        if (n == 0)
            return position >= 0 && position < 32 && (a[lane] >> position & 1) != 0
                       ? static_cast<std::uint32_t>(position)
                       : ~0u;
        for (; position >= 0 && position < 32; position += step) {
            if ((a[lane] >> position & 1) != 0 && ++found == (n < 0 ? -n : n))
                return static_cast<std::uint32_t>(position);
        }
        return ~0u;
    });
}

struct SizedHandlers {
    std::string_view name;
    Handler of16, of32, of64;
};

constexpr SizedHandlers sized_table[] = {
    {"and", &bit_and<std::uint16_t>, &bit_and<std::uint32_t>, &bit_and<std::uint64_t>},
    {"or", &bit_or<std::uint16_t>, &bit_or<std::uint32_t>, &bit_or<std::uint64_t>},
    {"xor", &bit_xor<std::uint16_t>, &bit_xor<std::uint32_t>, &bit_xor<std::uint64_t>},
    {"not", &bit_not<std::uint16_t>, &bit_not<std::uint32_t>, &bit_not<std::uint64_t>},
    {"cnot", &logical_not<std::uint16_t>, &logical_not<std::uint32_t>, &logical_not<std::uint64_t>},
    {"shl", &shift<std::uint16_t, true>, &shift<std::uint32_t, true>, &shift<std::uint64_t, true>},
    {"shr.u", &shift<std::uint16_t, false>, &shift<std::uint32_t, false>,
     &shift<std::uint64_t, false>},
    {"shr.s", &shift<std::int16_t, false>, &shift<std::int32_t, false>,
     &shift<std::int64_t, false>},
    {"popc", nullptr, &population, &population64},
    {"clz", nullptr, &leading_zeros<std::uint32_t>, &leading_zeros<std::uint64_t>},
    {"brev", nullptr, &reverse_bits<std::uint32_t>, &reverse_bits<std::uint64_t>},
    {"bfi", nullptr, &insert_field<std::uint32_t>, &insert_field<std::uint64_t>},
    {"bfind.u", nullptr, &find_bit<std::uint32_t>, &find_bit<std::uint64_t>},
    {"bfind.s", nullptr, &find_bit<std::int32_t>, &find_bit<std::int64_t>},
    {"bfe.u", nullptr, &extract_field<std::uint32_t>, &extract_field<std::uint64_t>},
    {"bfe.s", nullptr, &extract_field<std::int32_t>, &extract_field<std::int64_t>},
    {"szext.u", nullptr, &extend_from_bit<std::uint32_t>, nullptr},
    {"szext.s", nullptr, &extend_from_bit<std::int32_t>, nullptr},
    {"shf.l", nullptr, &funnel_shift<true>, nullptr},
    {"shf.r", nullptr, &funnel_shift<false>, nullptr},
    {"bmsk", nullptr, &bit_mask, nullptr},
    {"lop3", nullptr, &logic3, nullptr},
    {"prmt", nullptr, &permute, nullptr},
    {"dp4a", nullptr, &dot4, nullptr},
    {"dp2a", nullptr, &dot2, nullptr},
    {"fns", nullptr, &find_nth_set, nullptr},
};

}  // namespace

Handler bit_operation(std::string_view name, Type type) {
    for (const SizedHandlers& entry : sized_table) {
        if (entry.name != name) continue;
        switch (bytes_of(type)) {
            case 2:
                return entry.of16;
            case 4:
                return entry.of32;
            case 8:
                return entry.of64;
            default:
                return nullptr;
        }
    }
    return nullptr;
}

}  // namespace vgpu::ptx
