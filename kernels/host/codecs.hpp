// How every element type is decoded from the packs of a host block and encoded again, for one
// instruction set. Half and 8-bit floats become floats; everything else is computed with as it lies
// in memory.
#pragma once

#include "kernels/convert.hpp"
#include "kernels/elements.hpp"
#include "kernels/host/float8_sums.hpp"
#include "kernels/host/vectors.hpp"

namespace rondo::kernels::RONDO_ISA {

template <class T>
struct PlainCodec {
    static constexpr std::size_t element_bytes = sizeof(T);
    using Pack = PackOf<1>;
    using Decoded = Values<Vector<T>, 1>;

    RONDO_DEVICE static Decoded decode(const Pack& pack) {
        return {{bits_as<Vector<T>>(pack.part[0])}};
    }
    template <bool selects>
    RONDO_DEVICE static Pack encode(const Decoded& values) {
        return {{bits_as<BitsVector>(values.value[0])}};
    }
    RONDO_DEVICE static Vector<T> broadcast(T value) { return Vector<T>{} + value; }
};

struct FloatBroadcast {
    RONDO_DEVICE static FloatVector broadcast(float value) { return FloatVector{} + value; }
};

/// A lane of 32 bits holds two elements: the even one below, the odd one above.
struct BfloatCodec : FloatBroadcast {
    static constexpr std::size_t element_bytes = 2;
    using Pack = PackOf<1>;
    using Decoded = Values<FloatVector, 2>;

    RONDO_DEVICE static Decoded decode(const Pack& pack) {
        const BitsVector bits = pack.part[0];
        return {{bits_as<FloatVector>(bits << 16), bits_as<FloatVector>(bits & 0xffff0000u)}};
    }
    template <bool selects>
    RONDO_DEVICE static Pack encode(const Decoded& values) {
        const BitsVector even = float_to_bfloat_high(values.value[0]) >> 16;
        const BitsVector odd = float_to_bfloat_high(values.value[1]);
#if defined(__AVX2__) && !defined(__AVX512F__)
        return {
            { bits_as<BitsVector>(
                _mm256_blend_epi16(bits_as<__m256i>(even), bits_as<__m256i>(odd), 0xaa)) }};
#else
        return {{even | (odd & 0xffff0000u)}};
#endif
    }
};

#if defined(__F16C__)

/// Half of a vector of bits, and what the processor converts between it and a full vector of
/// floats.
using HalfBits = PackOf<2>::Part;

RONDO_DEVICE FloatVector widen(HalfBits halves) {
#if defined(__AVX512F__)
    return bits_as<FloatVector>(_mm512_cvtph_ps(bits_as<__m256i>(halves)));
#else
    return bits_as<FloatVector>(_mm256_cvtph_ps(bits_as<__m128i>(halves)));
#endif
}

RONDO_DEVICE HalfBits narrow(FloatVector floats) {
#if defined(__AVX512F__)
    return bits_as<HalfBits>(_mm512_cvtps_ph(bits_as<__m512>(floats), _MM_FROUND_TO_NEAREST_INT));
#else
    return bits_as<HalfBits>(_mm256_cvtps_ph(bits_as<__m256>(floats), _MM_FROUND_TO_NEAREST_INT));
#endif
}

struct HalfCodec : FloatBroadcast {
    static constexpr std::size_t element_bytes = 2;
    using Pack = PackOf<2>;
    using Decoded = Values<FloatVector, 2>;

    RONDO_DEVICE static Decoded decode(const Pack& pack) {
        return {{widen(pack.part[0]), widen(pack.part[1])}};
    }
    template <bool selects>
    RONDO_DEVICE static Pack encode(const Decoded& values) {
        return {{narrow(values.value[0]), narrow(values.value[1])}};
    }
};

using WordVector = Vector<std::uint16_t>;
using SignedWordVector = Vector<std::int16_t>;

/// The two halves of a vector, and back; through memory (a cast to a struct) it would cost ten
/// times as much.
template <bool upper>
RONDO_DEVICE HalfBits half_of(WordVector words) {
#if defined(__AVX512F__)
    return bits_as<HalfBits>(_mm512_extracti64x4_epi64(bits_as<__m512i>(words), upper));
#else
    return bits_as<HalfBits>(_mm256_extracti128_si256(bits_as<__m256i>(words), upper));
#endif
}

RONDO_DEVICE WordVector join(HalfBits low, HalfBits high) {
#if defined(__AVX512F__)
    const __m512i wide = _mm512_castsi256_si512(bits_as<__m256i>(low));
    return bits_as<WordVector>(_mm512_inserti64x4(wide, bits_as<__m256i>(high), 1));
#else
    return bits_as<WordVector>(_mm256_set_m128i(bits_as<__m128i>(high), bits_as<__m128i>(low)));
#endif
}

RONDO_DEVICE WordVector bytes_to_words(HalfBits bytes) {
#if defined(__AVX512F__)
    return bits_as<WordVector>(_mm512_cvtepu8_epi16(bits_as<__m256i>(bytes)));
#else
    return bits_as<WordVector>(_mm256_cvtepu8_epi16(bits_as<__m128i>(bytes)));
#endif
}

/// Every word must be below 256.
RONDO_DEVICE HalfBits words_to_bytes(WordVector words) {
#if defined(__AVX512F__)
    return bits_as<HalfBits>(_mm512_cvtepi16_epi8(bits_as<__m512i>(words)));
#else
    const auto low = bits_as<__m128i>(half_of<false>(words));
    return bits_as<HalfBits>(_mm_packus_epi16(low, bits_as<__m128i>(half_of<true>(words))));
#endif
}

/// An 8-bit float is the upper bits of a half, once e4m3 is seen as a half that is 2^8 times
/// smaller: its exponent has the lesser bias. So both ways go through halves, 16 bits a lane.
template <ElementType type>
struct Float8Codec : FloatBroadcast {
    static constexpr std::size_t element_bytes = 1;
    using Pack = PackOf<2>;
    using Decoded = Values<FloatVector, 4>;

    RONDO_DEVICE static Decoded decode(const Pack& pack) {
        const WordVector low = to_halves(bytes_to_words(pack.part[0]));
        const WordVector high = to_halves(bytes_to_words(pack.part[1]));
        return {{widen(half_of<false>(low)) * scale, widen(half_of<true>(low)) * scale,
                 widen(half_of<false>(high)) * scale, widen(half_of<true>(high)) * scale}};
    }

    template <bool selects>
    RONDO_DEVICE static Pack encode(const Decoded& values) {
        const WordVector low = join(narrow_to_odd(values.value[0]), narrow_to_odd(values.value[1]));
        const WordVector high =
            join(narrow_to_odd(values.value[2]), narrow_to_odd(values.value[3]));
        return {{words_to_bytes(from_halves<selects>(low)),
                 words_to_bytes(from_halves<selects>(high))}};
    }

private:
    static constexpr bool is_e4m3 = type == ElementType::f8e4m3;
    static constexpr float scale = is_e4m3 ? 256.0f : 1.0f;
    static constexpr unsigned shift = is_e4m3 ? 7 : 8;

    RONDO_DEVICE static WordVector to_halves(WordVector bytes) {
        if constexpr (is_e4m3) {
            const WordVector magnitude = bytes & 0x7f;
            const WordVector not_a_number = bits_as<WordVector>(magnitude == 0x7f) & 0x7c00;
            return (magnitude << 7) | ((bytes & 0x80) << 8) | not_a_number;
        } else {
            return bytes << 8;
        }
    }

    /// The half next to the value in the direction of zero, its last bit set when anything was
    /// lost. Five bits of mantissa are kept, which every half has, subnormal ones too down to what
    /// an 8-bit float can tell from zero.
    RONDO_DEVICE static HalfBits narrow_to_odd(FloatVector values) {
        const auto bits = bits_as<BitsVector>(values * (1 / scale));
        const BitsVector lost = (bits & 0x3ffffu) + 0x3ffffu;
        return narrow(bits_as<FloatVector>((bits | lost) & 0xfffc0000u));
    }

    template <bool selects>
    RONDO_DEVICE static WordVector from_halves(WordVector halves) {
        constexpr std::int16_t greatest = is_e4m3 ? 0x3f00 : (selects ? 0x7c00 : 0x7b00);
        const auto magnitude = bits_as<SignedWordVector>(halves & 0x7fff);
        const auto clamped =
            bits_as<WordVector>(magnitude > greatest ? SignedWordVector{} + greatest : magnitude);
        constexpr std::uint16_t half_unit_less_one = (1 << (shift - 1)) - 1;
        const WordVector rounded =
            (clamped + half_unit_less_one + ((clamped >> shift) & 1)) >> shift;
        const WordVector with_sign = rounded | ((halves >> 8) & 0x80);
        return magnitude > 0x7c00 ? WordVector{} + 0x7f : with_sign;
    }
};

#else

/// Even and odd elements as in BfloatCodec.
struct HalfCodec : FloatBroadcast {
    static constexpr std::size_t element_bytes = 2;
    using Pack = PackOf<1>;
    using Decoded = Values<FloatVector, 2>;

    RONDO_DEVICE static Decoded decode(const Pack& pack) {
        return {{half_to_float<FloatVector>(pack.part[0] & 0xffffu),
                 half_to_float<FloatVector>(pack.part[0] >> 16)}};
    }
    template <bool selects>
    RONDO_DEVICE static Pack encode(const Decoded& values) {
        return {{float_to_half(values.value[0]) | (float_to_half(values.value[1]) << 16)}};
    }
};

/// A lane of 32 bits holds four elements, which become the same lane of four vectors.
template <ElementType type>
struct Float8Codec : FloatBroadcast {
    static constexpr std::size_t element_bytes = 1;
    using Pack = PackOf<1>;
    using Decoded = Values<FloatVector, 4>;

    RONDO_DEVICE static Decoded decode(const Pack& pack) {
        const BitsVector bits = pack.part[0];
        return {{float8_to_float<type, FloatVector>(bits & 0xffu),
                 float8_to_float<type, FloatVector>((bits >> 8) & 0xffu),
                 float8_to_float<type, FloatVector>((bits >> 16) & 0xffu),
                 float8_to_float<type, FloatVector>(bits >> 24)}};
    }
    template <bool selects>
    RONDO_DEVICE static Pack encode(const Decoded& values) {
        constexpr Overflow overflow = selects ? Overflow::infinity : Overflow::saturate;
        return {{float_to_float8<type, overflow>(values.value[0]) |
                 (float_to_float8<type, overflow>(values.value[1]) << 8) |
                 (float_to_float8<type, overflow>(values.value[2]) << 16) |
                 (float_to_float8<type, overflow>(values.value[3]) << 24)}};
    }
};

#endif

template <ElementType type>
using NarrowCodec = std::conditional_t<
    type == ElementType::f16, HalfCodec,
    std::conditional_t<type == ElementType::bf16, BfloatCodec, Float8Codec<type>>>;
template <ElementType type>
using AnyCodec =
    std::conditional_t<is_narrow<type>, NarrowCodec<type>, PlainCodec<PlainType<type>>>;

template <ElementType type, ReduceOp op>
inline constexpr bool sums_float8 = op == ReduceOp::sum &&
                                    (type == ElementType::f8e4m3 || type == ElementType::f8e5m2);
template <ElementType type, ReduceOp op>
using CodecOf =
    std::conditional_t<sums_float8<type, op>, Float8SumCodec<type, AnyCodec<type>>, AnyCodec<type>>;

}  // namespace rondo::kernels::RONDO_ISA
