// Decimal GB/s and whole bytes per second are the same thing, digit for digit.
#include "topology/graph/units.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace rondo {
namespace {

TEST(Units, GigabytesPerSecondAreExactDecimals) {
    EXPECT_EQ(bytes_per_second(20.6), 20'600'000'000);
    EXPECT_EQ(bytes_per_second(15.754), 15'754'000'000);
    EXPECT_EQ(bytes_per_second(721.8), 721'800'000'000);
    EXPECT_EQ(bytes_per_second(0.000000001), 1);
    EXPECT_EQ(bytes_per_second(99999.999999999), 99'999'999'999'999);
    EXPECT_EQ(gigabytes_per_second(20'600'000'000), 20.6);
}

TEST(Units, EveryBandwidthSurvivesTheWayThereAndBack) {
    std::mt19937_64 random(7);
    std::uniform_int_distribution<std::int64_t> bandwidths(1, 100'000'000'000'000);
    for (int i = 0; i < 100'000; ++i) {
        const std::int64_t bandwidth = bandwidths(random);
        ASSERT_EQ(bytes_per_second(gigabytes_per_second(bandwidth)), bandwidth);
    }
}

TEST(Units, FinerThanAByteIsRounded) {
    EXPECT_EQ(bytes_per_second(0.1 + 0.2), 300'000'000);
    EXPECT_EQ(bytes_per_second(15.75384615384615), 15'753'846'154);
    EXPECT_EQ(bytes_per_second(1e-12), 0);
}

TEST(Units, WhatIsNotANumberOfBytesIsRefused) {
    EXPECT_EQ(bytes_per_second(std::numeric_limits<double>::quiet_NaN()), std::nullopt);
    EXPECT_EQ(bytes_per_second(std::numeric_limits<double>::infinity()), std::nullopt);
    EXPECT_EQ(bytes_per_second(1e300), std::nullopt);
    EXPECT_EQ(bytes_of_gibibytes(-1), std::nullopt);
    EXPECT_EQ(bytes_of_gibibytes(1e300), std::nullopt);
}

TEST(Units, Gibibytes) {
    EXPECT_EQ(bytes_of_gibibytes(16), std::uint64_t{16} << 30);
    for (const std::uint64_t bytes :
         {std::uint64_t{1}, std::uint64_t{16'945'512'448}, (std::uint64_t{1} << 50) - 1}) {
        EXPECT_EQ(bytes_of_gibibytes(gibibytes(bytes)), bytes);
    }
}

}  // namespace
}  // namespace rondo
