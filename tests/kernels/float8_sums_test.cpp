// Sums of 8-bit floats by the host loops: every pair of values, NaNs, infinities and subnormal ones
// included, is what adding floats and rounding once gives.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/convert.hpp"
#include "kernels/host/loops.hpp"
#include "kernels/host/subnormals.hpp"

namespace rondo::kernels {
namespace {

constexpr std::size_t pairs = 256 * 256;

/// The values of all pairs. `greatest` takes the place of magnitudes above it: without infinities
/// and NaNs, no pack needs care.
struct Inputs {
    std::vector<std::uint8_t> first, second;

    explicit Inputs(std::uint8_t greatest) : first(pairs), second(pairs) {
        const auto value = [greatest](std::size_t bits) {
            const std::size_t magnitude = bits & 0x7f;
            return static_cast<std::uint8_t>(magnitude > greatest ? (bits & 0x80) | greatest
                                                                  : bits);
        };
        for (std::size_t i = 0; i < pairs; ++i) {
            first[i] = value(i / 256);
            second[i] = value(i % 256);
        }
    }
};

template <ElementType type>
float float_of(std::uint8_t bits) {
    return float8_to_float<type, float>(std::uint32_t{bits});
}

template <ElementType type>
std::vector<std::uint8_t> expected_sums(const Inputs& inputs, std::uint32_t divisor) {
    std::vector<std::uint8_t> sums(pairs);
    for (std::size_t i = 0; i < pairs; ++i) {
        float sum = float_of<type>(inputs.first[i]) + float_of<type>(inputs.second[i]);
        if (divisor != 0) sum /= static_cast<float>(divisor);
        sums[i] = static_cast<std::uint8_t>(float_to_float8<type, Overflow::saturate>(sum));
    }
    return sums;
}

std::vector<std::uint8_t> loop_sums(Isa isa, ElementType type, const Inputs& inputs,
                                    std::uint32_t divisor) {
    std::vector<std::uint8_t> sums(pairs);
    const void* const sources[] = {inputs.first.data(), inputs.second.data()};
    void* const destinations[] = {sums.data()};
    find_fold(loops_of(isa).reduce, type, ReduceOp::sum)({.sources = sources,
                                                          .destinations = destinations,
                                                          .source_count = 2,
                                                          .destination_count = 1,
                                                          .count = pairs,
                                                          .divisor = divisor},
                                                         Stores::cached);
    return sums;
}

template <ElementType type>
void check_all_pairs(std::uint8_t greatest) {
    const Inputs inputs(greatest);
    for (const std::uint32_t divisor : {0u, 2u, 3u, 7u}) {
        const std::vector<std::uint8_t> expected = expected_sums<type>(inputs, divisor);
        for (const Isa isa : all_isas) {
            if (!supported_here(isa)) continue;
            const std::vector<std::uint8_t> sums = loop_sums(isa, type, inputs, divisor);
            for (std::size_t i = 0; i < pairs; ++i) {
                ASSERT_EQ(sums[i], expected[i])
                    << to_string(isa) << ": " << int{inputs.first[i]} << " + "
                    << int{inputs.second[i]} << ", by " << divisor;
            }
        }
    }
}

TEST(Float8Sums, AreThoseOfFloatsForEveryPair) {
    check_all_pairs<ElementType::f8e4m3>(0x7f);
    check_all_pairs<ElementType::f8e5m2>(0x7f);
}

TEST(Float8Sums, AreThoseOfFloatsWhereNothingNeedsCare) {
    check_all_pairs<ElementType::f8e4m3>(0x7e);
    check_all_pairs<ElementType::f8e5m2>(0x7b);
}

TEST(Float8Sums, DoNotDependOnWhetherTheProgramFlushesSubnormalFloats) {
    const unsigned before = float_modes();
    const Inputs inputs(0x7e);
    for (const Isa isa : all_isas) {
        if (!supported_here(isa)) continue;
        const auto expected = loop_sums(isa, ElementType::f8e4m3, inputs, 0);
        set_float_modes(before | subnormals_as_zeros);
        const auto sums = loop_sums(isa, ElementType::f8e4m3, inputs, 0);
        const unsigned after = float_modes();
        set_float_modes(before);
        EXPECT_EQ(sums, expected) << to_string(isa);
        EXPECT_EQ(after & subnormals_as_zeros, subnormals_as_zeros) << "the caller's choice stays";
    }
}

}  // namespace
}  // namespace rondo::kernels
