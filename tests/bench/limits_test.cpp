// The hand-written loops compute what they claim, in every style, for odd counts and in place.
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "bench/tool/memory_loops.hpp"
#include "bench/tool/pinned_team.hpp"

namespace rondo::testing {
namespace {

using namespace rondo::bench;

/// Where streaming stores can begin. One element behind the last stays free.
float* aligned_part(std::vector<float>& values) {
    const auto address = reinterpret_cast<std::uintptr_t>(values.data());
    return values.data() + (-address % 64) / sizeof(float);
}

TEST(BenchLoops, FoldsAreRightInEveryStyle) {
    for (const LoopStyle style : loop_styles()) {
        for (const std::size_t ranks : {1u, 2u, 3u, 8u}) {
            for (const std::size_t count : {0u, 1u, 63u, 64u, 5000u}) {
                for (const bool in_place : {false, true}) {
                    std::vector<std::vector<float>> inputs, outputs;
                    std::vector<const float*> sources;
                    std::vector<float*> destinations;
                    for (std::size_t r = 0; r < ranks; ++r) {
                        inputs.emplace_back(count + 16, static_cast<float>(r + 1));
                        outputs.emplace_back(count + 16, -1.0f);
                    }
                    for (std::size_t r = 0; r < ranks; ++r) {
                        sources.push_back(aligned_part(inputs[r]));
                        destinations.push_back(aligned_part(in_place ? inputs[r] : outputs[r]));
                    }
                    fold({sources.data(), destinations.data(), ranks, ranks}, 0, count, style);
                    const auto sum = static_cast<float>(ranks * (ranks + 1) / 2);
                    for (std::size_t r = 0; r < ranks; ++r) {
                        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(destinations[r][i], sum);
                        ASSERT_EQ(destinations[r][count], in_place ? static_cast<float>(r + 1) : -1)
                            << "nothing beyond the end";
                    }
                }
            }
        }
    }
}

TEST(BenchLoops, SumsForAKnownNumberOfSources) {
    alignas(64) static float sources[8][256];
    alignas(64) static float to[256];
    for (const std::size_t count : {2u, 8u}) {
        for (const bool streaming : {false, true}) {
            const SumOfMany sum = sum_of(count, streaming);
            if (sum == nullptr) GTEST_SKIP() << "this processor has no wide vectors";
            std::vector<const float*> from;
            for (std::size_t s = 0; s < count; ++s) {
                std::iota(std::begin(sources[s]), std::end(sources[s]), static_cast<float>(s));
                from.push_back(sources[s]);
            }
            sum(from.data(), to, 256);
            for (std::size_t i = 0; i < 256; ++i) {
                ASSERT_EQ(to[i], static_cast<float>(count * i + count * (count - 1) / 2));
            }
        }
    }
}

TEST(BenchTeam, EveryThreadRunsEveryJobOnce) {
    PinnedTeam team;
    std::vector<int> runs(team.size());
    for (int job = 0; job < 100; ++job) team.run([&](unsigned thread) { ++runs[thread]; });
    for (const int count : runs) EXPECT_EQ(count, 100);
}

}  // namespace
}  // namespace rondo::testing
