// Random problems under random schedules of the fibers, and the same bits every time.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <random>

#include "tests/communicator/collective_case.hpp"
#include "tests/communicator/fixture.hpp"
#include "tests/schedule/problems.hpp"
#include "vgpu/control.hpp"

namespace rondo::test {
namespace {

using Random = std::mt19937_64;

class RandomSchedules : public testing::Test {
protected:
    void TearDown() override { vgpu::reset(vgpu::Options::from_environment()); }

    static void reset(std::uint64_t seed) {
        vgpu::Options options = vgpu::Options::from_environment();
        options.topology = "9";
        options.seed = seed;
        vgpu::reset(options);
    }
};

TEST_F(RandomSchedules, ThousandsOfRandomProblems) {
    const std::uint64_t seed = std::random_device()();
    std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
    Random random(seed);
    const auto below = [&](std::uint64_t limit) {
        return static_cast<std::uint32_t>(random() % limit);
    };
    for (int round = 0; round < 60; ++round) {
        reset(random());
        const std::uint32_t ranks = 1 + below(9);
        CommunicatorOptions options = options_of(static_cast<int>(ranks));
        options.tuning = {.replicas = 1 + below(6),
                          .depth = 1u << below(4),
                          .slot_bytes = 64 * (1 + below(40)),
                          .first_epoch = below(2) == 0 ? 0 : 0u - below(100)};
        CaseRunner runner(Communicator::create(options));
        for (int i = 0; i < 35; ++i) {
            const std::vector<Strategy> strategies = sample_strategies();
            const Strategy strategy = strategies[below(strategies.size())];
            const Collective collective = all_collectives[below(all_collectives.size())];
            if (!applies(strategy, collective)) continue;
            const ElementType type = all_element_types[below(all_element_types.size())];
            EXPECT_EQ(runner.run({.collective = collective,
                                  .type = type,
                                  .op = all_reduce_ops[below(all_reduce_ops.size())],
                                  .count = below(2) == 0 ? below(20) : below(3000),
                                  .root = below(ranks),
                                  .strategy = strategy,
                                  .in_place = below(2) == 0,
                                  .together = below(2) == 0,
                                  .uneven = below(2) == 0,
                                  .offset = below(4) * size_of(type)}),
                      "")
                << "seed " << seed << ", round " << round << ", case " << i;
        }
    }
}

/// Random floats, whose sum depends on the order: it must be the same order every time.
TEST_F(RandomSchedules, TheSameCallGivesTheSameBits) {
    constexpr int ranks = 5;
    constexpr std::size_t count = 400;
    Random random(7);
    std::vector<std::vector<float>> inputs(ranks, std::vector<float>(count));
    for (auto& input : inputs) {
        for (float& value : input) {
            value = std::ldexp(static_cast<float>(random() % 65536) - 32768,
                               static_cast<int>(random() % 40) - 20);
        }
    }
    for (const Strategy& strategy : {Strategy::ring(), Strategy::tree(2), Strategy::direct(1),
                                     Strategy::direct(2), Strategy::hierarchical_copy(3)}) {
        std::vector<float> first;
        for (std::uint64_t seed = 1; seed <= 100; ++seed) {
            reset(seed);
            std::vector<Tensor<float>> tensors;
            for (int rank = 0; rank < ranks; ++rank) {
                tensors.push_back(tensor_on(rank, inputs[static_cast<std::size_t>(rank)]));
            }
            Communicator comm = Communicator::create(options_of(ranks));
            const PerReplica<float> value(tensors);
            comm.all_reduce(ReduceOp::sum, value, {.strategy = strategy}).wait();
            for (const auto& tensor : value) {
                const std::vector<float> result = values_of(tensor);
                if (first.empty()) first = result;
                ASSERT_EQ(std::memcmp(result.data(), first.data(), count * sizeof(float)), 0)
                    << to_string(strategy) << ", seed " << seed;
            }
        }
    }
}

/// Calls of one chunk leave out flags that calls of many need. Nobody waits between the calls, so
/// ranks are in different ones at the same time.
TEST_F(RandomSchedules, CallsOfOneChunkAndOfManyFollowEachOther) {
    constexpr int ranks = 4;
    for (const Strategy& strategy :
         {Strategy::direct(1), Strategy::direct(2), Strategy::ring(), Strategy::tree(2),
          Strategy::centralized(), Strategy::hierarchical_copy(2)}) {
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            reset(seed);
            CommunicatorOptions options = options_of(ranks);
            options.tuning = {.replicas = seed % 2 == 0 ? 2u : 1u,
                              .depth = seed % 5 == 0 ? 1u : 2u,
                              .slot_bytes = 64,
                              .first_epoch = seed % 3 == 0 ? 0u - 7u : 0u};
            Communicator comm = Communicator::create(options);
            std::vector<PerReplica<float>> values;
            std::vector<std::vector<float>> sums;
            std::vector<Work> works;
            for (const std::size_t count : {1, 16, 3, 500, 2, 0, 5, 5, 33, 1, 1, 1, 200, 200, 8}) {
                values.push_back(ramp(ranks, count, static_cast<float>(values.size())));
                sums.push_back(sum_of(values.back()));
            }
            for (const PerReplica<float>& value : values) {
                works.push_back(comm.all_reduce(ReduceOp::sum, value, {.strategy = strategy}));
            }
            for (Work& work : works) work.wait();
            for (std::size_t call = 0; call < values.size(); ++call) {
                for (const auto& tensor : values[call]) {
                    ASSERT_EQ(values_of(tensor), sums[call])
                        << to_string(strategy) << ", seed " << seed << ", call " << call;
                }
            }
        }
    }
}

}  // namespace
}  // namespace rondo::test
