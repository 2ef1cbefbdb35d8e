// Thrust's backend makes the very data that the conformance suite is given, and finds what differs.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tests/communicator/exact_data.hpp"
#include "tests/kernels/reference.hpp"
#include "tests/nccl/thrust_data.hpp"

namespace rondo::test {
namespace {

constexpr std::uint64_t begin = 12345;
constexpr std::uint64_t count = 500;

TEST(ThrustData, RunsOnTheHost) {
    EXPECT_STREQ(thrust_backend(), "cpp");
}

TEST(ThrustData, EveryTypeOperatorAndRankHasTheBytesOfTheConformanceSuite) {
    for (const ElementType type : all_element_types) {
        const std::size_t element = size_of(type);
        for (const ReduceOp op : all_reduce_ops) {
            for (const std::uint32_t ranks : {1u, 3u, 8u, 16u}) {
                const DataRule rule{.exact = {type, op, ranks}};
                std::vector<std::byte> made(count * element);
                const auto expect = [&](auto value_at, const std::string& what) {
                    for (std::uint64_t i = 0; i < count; ++i) {
                        const std::vector<std::byte> bits = element_from(type, value_at(begin + i));
                        ASSERT_EQ(std::memcmp(bits.data(), made.data() + i * element, element), 0)
                            << to_string(type) << " " << to_string(op) << ", " << ranks
                            << " ranks, " << what << ", element " << begin + i;
                    }
                };
                for (std::uint32_t rank = 0; rank < ranks; ++rank) {
                    make_values(rule, rank, made.data(), {begin, count});
                    expect([&](std::uint64_t i) { return exact_value(type, op, ranks, rank, i); },
                           "rank " + std::to_string(rank));
                }
                make_results(rule, made.data(), {begin, count});
                expect([&](std::uint64_t i) { return exact_result(type, op, ranks, i); },
                       "the result");
            }
        }
    }
}

TEST(ThrustData, FindsTheFirstDifference) {
    for (const ElementType type : all_element_types) {
        std::vector<std::byte> a(count * size_of(type)), b;
        make_values({.exact = {type, ReduceOp::sum, 2}}, 1, a.data(), {0, count});
        b = a;
        EXPECT_EQ(first_difference(type, a.data(), b.data(), count), count);
        EXPECT_EQ(first_difference(type, a.data(), b.data(), 0), 0u);
        for (const std::size_t at : {count - 1, std::uint64_t{17}, std::uint64_t{0}}) {
            b[(at + 1) * size_of(type) - 1] ^= std::byte{1};
            EXPECT_EQ(first_difference(type, a.data(), b.data(), count), at) << to_string(type);
        }
    }
}

/// The sum of all ranks in float, in one order or the other.
std::vector<float> sums(const DataRule& rule, bool backwards) {
    std::vector<float> result(count);
    for (std::uint32_t i = 0; i < rule.exact.ranks; ++i) {
        const std::uint32_t rank = backwards ? rule.exact.ranks - 1 - i : i;
        std::vector<float> own(count);
        make_values(rule, rank, own.data(), {begin, count});
        for (std::uint64_t at = 0; at < count; ++at) result[at] += own[at];
    }
    return result;
}

TEST(ThrustData, TheBoundAllowsAnyOrderAndNothingElse) {
    const DataRule rule{DataRule::Kind::random, {ElementType::f32, ReduceOp::sum, 8}, 3};
    const std::vector<float> forwards = sums(rule, false);
    std::vector<float> backwards = sums(rule, true);
    EXPECT_NE(forwards, backwards);  // or the data would be exact
    const Range range{begin, count};
    EXPECT_EQ(first_outside_bound(rule, forwards.data(), backwards.data(), range), count);
    // A contribution that is missing, one that is doubled, and what is no number.
    backwards = forwards;
    backwards[99] += 1e-4F;
    EXPECT_EQ(first_outside_bound(rule, forwards.data(), backwards.data(), range), 99u);
    backwards[42] = std::nanf("");
    EXPECT_EQ(first_outside_bound(rule, forwards.data(), backwards.data(), range), 42u);
}

TEST(ThrustData, RandomDataDiffersByRankPlaceAndSeed) {
    const auto made = [](std::uint32_t rank, std::uint64_t seed) {
        std::vector<float> values(count);
        make_values({DataRule::Kind::random, {ElementType::f32, ReduceOp::sum, 8}, seed}, rank,
                    values.data(), {0, count});
        return values;
    };
    EXPECT_EQ(made(1, 5), made(1, 5));
    EXPECT_NE(made(1, 5), made(2, 5));
    EXPECT_NE(made(1, 5), made(1, 6));
    const auto values = made(0, 5);
    EXPECT_NE(values[0], values[1]);
    for (const float value : values) EXPECT_LE(std::fabs(value), 1);
}

}  // namespace
}  // namespace rondo::test
