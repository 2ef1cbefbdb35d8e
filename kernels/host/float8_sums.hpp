// Sums of 8-bit floats at several times the speed of converting each of them.
//
// Sign, exponent and mantissa of an 8-bit float, moved to where a float has them, are a float that
// is smaller by a constant power of two: 2^120 for e4m3, 2^112 for e5m2. Subnormal ones become
// subnormal floats. Sums there round as they do at full size, because a float has bits to spare
// below every 8-bit float; and the way back is rounding away the lower bits. Infinities and NaNs do
// not survive the move: they are noticed, and Float8Codec does their packs again.
#pragma once

#include "kernels/host/subnormals.hpp"
#include "kernels/host/vectors.hpp"

namespace rondo::kernels::RONDO_ISA {

using ByteVector = Vector<std::uint8_t>;

/// Four vectors of small floats, and the greatest magnitude that went into each byte.
struct Float8Sums : Values<FloatVector, 4> {
    ByteVector greatest;

    RONDO_DEVICE void merge(const Float8Sums& other) {
        greatest = greatest > other.greatest ? greatest : other.greatest;
    }
};

template <ElementType type, class CarefulCodec>
struct Float8SumCodec {
    using Careful = CarefulCodec;
    static constexpr std::size_t element_bytes = 1;
    using Pack = PackOf<1>;
    using Decoded = Float8Sums;

    /// A lane of 16 bits holds two elements. Each becomes the upper half of a float.
    RONDO_DEVICE static Decoded decode(const Pack& pack) {
        const auto pairs = bits_as<Words>(pack.part[0]);
        const auto odd = bits_as<BitsVector>((pairs >> narrower_exponent) & kept_bits);
        const auto even = bits_as<BitsVector>(((pairs << 8) >> narrower_exponent) & kept_bits);
        Decoded decoded;
        decoded.value[0] = bits_as<FloatVector>(even << 16);
        decoded.value[1] = bits_as<FloatVector>(odd << 16);
        decoded.value[2] = bits_as<FloatVector>(even & 0xffff0000u);
        decoded.value[3] = bits_as<FloatVector>(odd & 0xffff0000u);
        decoded.greatest = bits_as<ByteVector>(pack.part[0]) & 0x7f;
        return decoded;
    }

    /// Whether an infinity or a NaN went in.
    RONDO_DEVICE static bool needs_care(const Decoded& sums) {
        // The sign bit of a byte is set where its magnitude is above the greatest finite one.
        const ByteVector special = sums.greatest + std::uint8_t(0x7f - greatest_finite);
#if defined(__AVX512F__)
        return _mm512_movepi8_mask(bits_as<__m512i>(special)) != 0;
#elif defined(__AVX2__)
        return _mm256_movemask_epi8(bits_as<__m256i>(special)) != 0;
#elif defined(__x86_64__)
        return _mm_movemask_epi8(bits_as<__m128i>(special)) != 0;
#else
        const auto halves = bits_as<Vector<std::uint64_t>>(special);
        return ((halves[0] | halves[1]) & 0x8080808080808080u) != 0;
#endif
    }

    template <bool selects>
    RONDO_DEVICE static Pack encode(const Decoded& sums) {
        static_assert(!selects, "only for sums, which saturate");
        return {{byte_of(sums.value[0]) | (byte_of(sums.value[1]) << 8) |
                 (byte_of(sums.value[2]) << 16) | (byte_of(sums.value[3]) << 24)}};
    }

private:
    using Words = Vector<std::int16_t>;
    static constexpr bool is_e4m3 = type == ElementType::f8e4m3;
    /// By how many bits the exponent of a float is wider.
    static constexpr int narrower_exponent = is_e4m3 ? 4 : 3;
    static constexpr std::int16_t kept_bits = static_cast<std::int16_t>(is_e4m3 ? 0x87f0 : 0x8fe0);
    static constexpr std::uint8_t greatest_finite = is_e4m3 ? 0x7e : 0x7b;
    static constexpr unsigned lost_bits = is_e4m3 ? 20 : 21;

    /// To nearest, ties to even.
    RONDO_DEVICE static BitsVector byte_of(FloatVector value) {
        const auto bits = bits_as<BitsVector>(value);
        const BitsVector magnitude = bits & 0x7fffffffu;
        const BitsVector is_odd = (magnitude >> lost_bits) & 1u;
        const BitsVector rounded =
            (magnitude + ((1u << (lost_bits - 1)) - 1) + is_odd) >> lost_bits;
        const auto fits = bits_as<Vector<std::int32_t>>(rounded) < greatest_finite;
        return (fits ? rounded : BitsVector{} + greatest_finite) | ((bits >> 24) & 0x80u);
    }
};

}  // namespace rondo::kernels::RONDO_ISA
