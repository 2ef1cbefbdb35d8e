// verify(): accepts what every strategy builds, and rejects schedules with one thing wrong.
#include <gtest/gtest.h>

#include "rondo/schedule.hpp"
#include "tests/schedule/problems.hpp"

namespace rondo {
namespace {

using namespace rondo::test;

std::string name_of(const Strategy& strategy, const Problem& problem) {
    return to_string(strategy) + " " + std::string(to_string(problem.collective)) + " ranks " +
           std::to_string(problem.ranks) + " root " + std::to_string(problem.root) + " lanes " +
           std::to_string(problem.lanes) + " depth " + std::to_string(problem.depth);
}

void expect_verified(const Strategy& strategy, const Problem& problem) {
    const Schedule schedule = build(strategy, problem);
    EXPECT_EQ(verify(schedule).problem, "") << name_of(strategy, problem) << "\n"
                                            << (problem.ranks < 5 ? to_string(schedule) : "");
}

class VerifyStrategies : public testing::TestWithParam<std::uint32_t> {};

TEST_P(VerifyStrategies, EveryStrategyAndCollectiveIsProved) {
    const std::uint32_t ranks = GetParam();
    for (const Collective collective : all_collectives) {
        for (const Strategy& strategy : all_strategies(ranks)) {
            if (!applies(strategy, collective)) continue;
            for (const std::uint32_t lanes : {1u, 2u, 6u}) {
                for (const std::uint32_t depth : {1u, 2u, 4u}) {
                    expect_verified(strategy, {.collective = collective,
                                               .ranks = ranks,
                                               .root = ranks / 2,
                                               .lanes = lanes,
                                               .depth = depth});
                }
            }
        }
    }
}

TEST_P(VerifyStrategies, DestinationsMayBeAnyRanks) {
    const std::uint32_t ranks = GetParam();
    for (const Collective collective : {Collective::reduce, Collective::broadcast}) {
        for (const Strategy& strategy : all_strategies(ranks)) {
            if (!applies(strategy, collective)) continue;
            for (const std::vector<std::uint32_t>& destinations :
                 {std::vector{0u}, std::vector{ranks - 1}, std::vector{0u, ranks - 1}}) {
                expect_verified(strategy, {.collective = collective,
                                           .ranks = ranks,
                                           .root = ranks / 3,
                                           .destinations = destinations,
                                           .lanes = 2});
            }
        }
    }
}

TEST_P(VerifyStrategies, OrderHalvesAndUnevenCounts) {
    const std::uint32_t ranks = GetParam();
    std::vector<std::uint32_t> order, halves;
    std::vector<std::uint64_t> counts;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        order.push_back(ranks - 1 - rank);
        halves.push_back(rank % 2);
        counts.push_back(rank * 3 % 7);
    }
    for (const Collective collective : all_collectives) {
        for (const Strategy& strategy : all_strategies(ranks)) {
            if (!applies(strategy, collective)) continue;
            Problem problem{.collective = collective,
                            .ranks = ranks,
                            .order = order,
                            .halves = halves,
                            .centre = ranks - 1,
                            .lanes = 2};
            if (collective == Collective::reduce_scatter || collective == Collective::all_gather) {
                problem.counts = counts;
            }
            expect_verified(strategy, problem);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Ranks, VerifyStrategies, testing::Values(1, 2, 3, 4, 5, 7, 8, 9, 16));

TEST(Verify, SixtyFourRanks) {
    for (const Collective collective : all_collectives) {
        for (const Strategy& strategy : {Strategy::ring(), Strategy::tree(2), Strategy::direct(2),
                                         Strategy::hierarchical_copy(8)}) {
            expect_verified(strategy, {.collective = collective, .ranks = 64, .lanes = 2});
        }
    }
}

}  // namespace
}  // namespace rondo
