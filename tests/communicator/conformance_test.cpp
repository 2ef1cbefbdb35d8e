// Every strategy, every collective, any number of ranks, any count, every type and operator: the
// same exact result.
#include <gtest/gtest.h>

#include <cuda_runtime_api.h>

#include "tests/communicator/collective_case.hpp"
#include "tests/schedule/problems.hpp"

namespace rondo::test {
namespace {

std::uint32_t devices_present() {
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess ? static_cast<std::uint32_t>(count) : 0;
}

/// Small slots and a start near the wrap of 32 bits, so that few elements go a long way.
CommunicatorOptions options_for(std::uint32_t ranks, const Tuning& tuning) {
    CommunicatorOptions options{.timeout = std::chrono::seconds(60), .tuning = tuning};
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        options.devices.push_back(static_cast<int>(rank));
    }
    return options;
}

/// How many ranks, and where their buffers come from.
struct Setting {
    std::uint32_t ranks = 1;
    MemorySource source = MemorySource::device;
};

class Conformance : public testing::TestWithParam<Setting> {
protected:
    void SetUp() override {
        if (devices_present() == 0) GTEST_SKIP() << "there is no GPU";
        if (devices_present() < ranks()) {
            GTEST_SKIP() << "needs " << ranks() << " GPUs, there are " << devices_present();
        }
    }
    std::uint32_t ranks() const { return GetParam().ranks; }
    CaseRunner make_runner(const Tuning& tuning = {}) const {
        return CaseRunner(Communicator::create(options_for(ranks(), tuning)), GetParam().source);
    }
};

TEST_P(Conformance, EveryStrategyCollectiveAndCount) {
    CaseRunner runner = make_runner();
    for (const Strategy& strategy : sample_strategies()) {
        for (const Collective collective : all_collectives) {
            if (!applies(strategy, collective)) continue;
            for (const std::uint64_t count :
                 {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{ranks() - 1},
                  std::uint64_t{ranks()}, std::uint64_t{ranks() + 1}, std::uint64_t{1009}}) {
                for (const bool in_place : {false, true}) {
                    EXPECT_EQ(runner.run({.collective = collective,
                                          .count = count,
                                          .root = ranks() / 2,
                                          .strategy = strategy,
                                          .in_place = in_place,
                                          .together = (count + in_place) % 2 == 0}),
                              "");
                }
            }
        }
    }
}

TEST_P(Conformance, ManyChunksAcrossTheWrapOfTheFlags) {
    CaseRunner runner =
        make_runner({.replicas = 2, .depth = 2, .slot_bytes = 256, .first_epoch = 0u - 20});
    for (const Strategy& strategy : sample_strategies()) {
        for (const Collective collective : all_collectives) {
            if (!applies(strategy, collective)) continue;
            for (int call = 0; call < 3; ++call) {
                EXPECT_EQ(
                    runner.run({.collective = collective,
                                .count = 4 * 1009,
                                .root = ranks() - 1,
                                .strategy = strategy,
                                .in_place = call == 1,
                                .uneven = call == 2 && (collective == Collective::all_gather ||
                                                        collective == Collective::reduce_scatter)}),
                    "");
            }
        }
    }
}

TEST_P(Conformance, EveryTypeAndOperator) {
    CaseRunner runner = make_runner();
    for (const Strategy& strategy : sample_strategies()) {
        const bool all_pairs = strategy.name() == "ring" || strategy.name() == "direct";
        std::size_t turn = 0;
        for (const ElementType type : all_element_types) {
            for (const ReduceOp op : all_reduce_ops) {
                // Elsewhere every type and every operator once.
                if (!all_pairs && op != all_reduce_ops[turn % all_reduce_ops.size()]) continue;
                EXPECT_EQ(runner.run({.type = type,
                                      .op = op,
                                      .count = 523,
                                      .strategy = strategy,
                                      .in_place = turn % 2 == 0}),
                          "");
            }
            ++turn;
        }
    }
}

TEST_P(Conformance, AnyAlignmentOfWholeElements) {
    CaseRunner runner = make_runner();
    for (const Strategy& strategy : sample_strategies()) {
        for (const auto& [type, offset] : {std::pair{ElementType::u8, 1},
                                           {ElementType::f16, 2},
                                           {ElementType::f32, 4},
                                           {ElementType::f64, 8}}) {
            EXPECT_EQ(runner.run({.type = type,
                                  .count = 1021,
                                  .strategy = strategy,
                                  .offset = static_cast<std::size_t>(offset)}),
                      "");
        }
    }
}

TEST_P(Conformance, AMillionAndThree) {
    CaseRunner runner = make_runner();
    for (const Strategy& strategy : sample_strategies()) {
        for (const bool in_place : {false, true}) {
            EXPECT_EQ(
                runner.run({.count = (1 << 20) + 3, .strategy = strategy, .in_place = in_place}),
                "");
        }
    }
}

std::vector<Setting> on_device_memory() {
    std::vector<Setting> settings;
    for (const std::uint32_t ranks : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16}) settings.push_back({ranks});
    return settings;
}

INSTANTIATE_TEST_SUITE_P(Ranks, Conformance, testing::ValuesIn(on_device_memory()),
                         [](const auto& parameter) {
                             return std::to_string(parameter.param.ranks);
                         });

// Buffers that peers can't map are staged; nothing else changes.
INSTANTIATE_TEST_SUITE_P(
    Pools, Conformance,
    testing::Values(Setting{1, MemorySource::closed_pool}, Setting{3, MemorySource::closed_pool},
                    Setting{8, MemorySource::closed_pool}, Setting{3, MemorySource::open_pool},
                    Setting{3, MemorySource::mixed}, Setting{4, MemorySource::mixed},
                    Setting{8, MemorySource::mixed}),
    [](const auto& parameter) {
        return to_string(parameter.param.source) + "_" + std::to_string(parameter.param.ranks);
    });

}  // namespace
}  // namespace rondo::test
