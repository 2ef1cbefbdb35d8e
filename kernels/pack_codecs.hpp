// How every element type is decoded from a pack of a GPU thread and encoded again.
#pragma once

#include <type_traits>

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#endif

#include "kernels/convert.hpp"
#include "kernels/elements.hpp"
#include "kernels/packs.hpp"

namespace rondo::kernels {

/// Types that are computed with as they are: integers and wide floats.
template <class T>
struct PackPlainCodec {
    static constexpr std::size_t element_bytes = sizeof(T);
    static constexpr unsigned size = sizeof(Pack16) / sizeof(T);
    using Pack = Pack16;
    using Decoded = Values<T, size>;

    RONDO_DEVICE static Decoded decode(const Pack16& pack) {
        Decoded values;
        RONDO_UNROLL
        for (unsigned i = 0; i < size; ++i) {
            values.value[i] = element(pack, i);
        }
        return values;
    }
    template <bool selects>
    RONDO_DEVICE static Pack16 encode(const Decoded& values) {
        Pack16 pack{};
        RONDO_UNROLL
        for (unsigned i = 0; i < size; ++i) {
            put(pack, i, bits_as<BitsOf<T>>(values.value[i]));
        }
        return pack;
    }
    RONDO_DEVICE static T broadcast(T value) { return value; }

private:
    RONDO_DEVICE static T element(const Pack16& pack, unsigned i) {
        if constexpr (sizeof(T) == 8) {
            return bits_as<T>(pack.word[2 * i] | static_cast<std::uint64_t>(pack.word[2 * i + 1])
                                                     << 32);
        } else {
            const unsigned at = i * sizeof(T);
            return bits_as<T>(static_cast<BitsOf<T>>(pack.word[at / 4] >> (at % 4 * 8)));
        }
    }
    RONDO_DEVICE static void put(Pack16& pack, unsigned i, BitsOf<T> bits) {
        if constexpr (sizeof(T) == 8) {
            pack.word[2 * i] = static_cast<std::uint32_t>(bits);
            pack.word[2 * i + 1] = static_cast<std::uint32_t>(bits >> 32);
        } else {
            const unsigned at = i * sizeof(T);
            pack.word[at / 4] |= static_cast<std::uint32_t>(bits) << (at % 4 * 8);
        }
    }
};

/// Two neighbours of a narrow float type as they lie in memory, the first in the low bits.
template <ElementType type>
RONDO_DEVICE std::uint32_t encode_pair(float first, float second, [[maybe_unused]] bool selects) {
    if constexpr (type == ElementType::f16) {
#if defined(__CUDA_ARCH__)
        return bits_as<std::uint32_t>(static_cast<__half2_raw>(__floats2half2_rn(first, second)));
#else
        return float_to_half(first) | float_to_half(second) << 16;
#endif
    } else if constexpr (type == ElementType::bf16) {
#if defined(__CUDA_ARCH__)
        return bits_as<std::uint32_t>(
            static_cast<__nv_bfloat162_raw>(__floats2bfloat162_rn(first, second)));
#else
        return float_to_bfloat_high(first) >> 16 | (float_to_bfloat_high(second) & 0xffff0000u);
#endif
    } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
        if (type == ElementType::f8e4m3 || !selects) {
            constexpr auto format = type == ElementType::f8e4m3 ? __NV_E4M3 : __NV_E5M2;
            return __nv_cvt_float2_to_fp8x2(float2{first, second}, __NV_SATFINITE, format);
        }
#endif
        if (selects) {
            return float_to_float8<type, Overflow::infinity>(first) |
                   float_to_float8<type, Overflow::infinity>(second) << 8;
        }
        return float_to_float8<type, Overflow::saturate>(first) |
               float_to_float8<type, Overflow::saturate>(second) << 8;
    }
}

/// One narrow float in the low bits.
template <ElementType type>
RONDO_DEVICE float decode_one(std::uint32_t bits) {
    if constexpr (type == ElementType::f16) {
#if defined(__CUDA_ARCH__)
        return __half2float(bits_as<__half>(static_cast<std::uint16_t>(bits)));
#else
        return half_to_float<float>(bits & 0xffffu);
#endif
    } else if constexpr (type == ElementType::bf16) {
        return bits_as<float>(bits << 16);
    } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
        constexpr auto format = type == ElementType::f8e4m3 ? __NV_E4M3 : __NV_E5M2;
        return __half2float(__nv_cvt_fp8_to_halfraw(static_cast<std::uint8_t>(bits), format));
#else
        return float8_to_float<type, float>(bits & 0xffu);
#endif
    }
}

/// 16- and 8-bit floats, computed with as floats.
template <ElementType type>
struct PackNarrowCodec {
    static constexpr std::size_t element_bytes =
        type == ElementType::f16 || type == ElementType::bf16 ? 2 : 1;
    static constexpr unsigned size = sizeof(Pack16) / element_bytes;
    static constexpr unsigned bits = element_bytes * 8;
    using Pack = Pack16;
    using Decoded = Values<float, size>;

    RONDO_DEVICE static Decoded decode(const Pack16& pack) {
        Decoded values;
        RONDO_UNROLL
        for (unsigned i = 0; i < size; ++i) {
            values.value[i] = decode_one<type>(pack.word[i * bits / 32] >> (i * bits % 32));
        }
        return values;
    }
    template <bool selects>
    RONDO_DEVICE static Pack16 encode(const Decoded& values) {
        Pack16 pack{};
        RONDO_UNROLL
        for (unsigned i = 0; i < size; i += 2) {
            const std::uint32_t pair =
                encode_pair<type>(values.value[i], values.value[i + 1], selects);
            pack.word[i * bits / 32] |= pair << (i * bits % 32);
        }
        return pack;
    }
    RONDO_DEVICE static float broadcast(float value) { return value; }
};

/// Bytes that nobody computes with: for copies.
struct PackRawCodec : PackPlainCodec<std::uint64_t> {
    static constexpr std::size_t element_bytes = 1;
    static constexpr bool only_moves = true;
};

template <ElementType type>
using PackCodecOf =
    std::conditional_t<is_narrow<type>, PackNarrowCodec<type>, PackPlainCodec<PlainType<type>>>;

}  // namespace rondo::kernels
