// The conversions of narrow floats give NVIDIA's bits: all 8- and 16-bit inputs, and floats with
// every upper 24 bits.
#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <gtest/gtest.h>

#include "kernels/convert.hpp"

namespace rondo::kernels {
namespace {

/// Every float up to its last 8 bits, with those that matter there: nothing lost, a little, exactly
/// or nearly half.
template <class Check>
void for_floats(Check check) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    constexpr std::uint32_t stride =
        61;  // sanitizers are slow; still all exponents and many mantissas
#else
    constexpr std::uint32_t stride = 1;
#endif
    for (std::uint32_t upper = 0; upper < (1u << 24); upper += stride) {
        for (const std::uint32_t lower : {0x00u, 0x01u, 0x80u, 0xffu}) {
            check(bits_as<float>(upper << 8 | lower));
            if (testing::Test::HasFatalFailure()) return;
        }
    }
}

template <__nv_fp8_interpretation_t format, __nv_saturation_t saturation>
std::uint32_t nvidia_float8(float value) {
    return __nv_cvt_float_to_fp8(value, saturation, format);
}

TEST(Convert, FloatToHalf) {
    for_floats([](float value) {
        ASSERT_EQ(float_to_half(value), static_cast<__half_raw>(__float2half_rn(value)).x)
            << std::hexfloat << value;
    });
}

TEST(Convert, FloatToBfloat) {
    for_floats([](float value) {
        ASSERT_EQ(float_to_bfloat_high(value) >> 16,
                  static_cast<__nv_bfloat16_raw>(__float2bfloat16_rn(value)).x)
            << std::hexfloat << value;
    });
}

TEST(Convert, FloatToE4M3) {
    for_floats([](float value) {
        ASSERT_EQ(float_to_e4m3(value), (nvidia_float8<__NV_E4M3, __NV_SATFINITE>(value)))
            << std::hexfloat << value;
    });
}

TEST(Convert, FloatToE5M2Saturating) {
    for_floats([](float value) {
        ASSERT_EQ(float_to_e5m2<Overflow::saturate>(value),
                  (nvidia_float8<__NV_E5M2, __NV_SATFINITE>(value)))
            << std::hexfloat << value;
    });
}

TEST(Convert, FloatToE5M2WithInfinity) {
    for_floats([](float value) {
        ASSERT_EQ(float_to_e5m2<Overflow::infinity>(value),
                  (nvidia_float8<__NV_E5M2, __NV_NOSAT>(value)))
            << std::hexfloat << value;
    });
}

TEST(Convert, AllHalvesToFloat) {
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
        const float expected = __half2float(__half_raw{static_cast<std::uint16_t>(bits)});
        const float seen = half_to_float<float>(bits);
        ASSERT_TRUE(bits_as<std::uint32_t>(seen) == bits_as<std::uint32_t>(expected) ||
                    (seen != seen && expected != expected))
            << bits;
    }
}

TEST(Convert, AllEightBitFloatsToFloat) {
    for (std::uint32_t bits = 0; bits < 256; ++bits) {
        const auto byte = static_cast<std::uint8_t>(bits);
        const float e4m3 = __half2float(__nv_cvt_fp8_to_halfraw(byte, __NV_E4M3));
        const float e5m2 = __half2float(__nv_cvt_fp8_to_halfraw(byte, __NV_E5M2));
        const float seen4 = e4m3_to_float<float>(bits);
        const float seen5 = e5m2_to_float<float>(bits);
        ASSERT_TRUE(bits_as<std::uint32_t>(seen4) == bits_as<std::uint32_t>(e4m3) ||
                    (seen4 != seen4 && e4m3 != e4m3))
            << bits;
        ASSERT_TRUE(bits_as<std::uint32_t>(seen5) == bits_as<std::uint32_t>(e5m2) ||
                    (seen5 != seen5 && e5m2 != e5m2))
            << bits;
    }
}

}  // namespace
}  // namespace rondo::kernels
