// verify(): accepts what every strategy builds, and rejects schedules with one thing wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/schedule.hpp"
#include "schedule/builder.hpp"
#include "schedule/lower.hpp"
#include "schedule/verify.hpp"
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

/// Chains and brooms of different weights, rooted where the collective wants them.
std::vector<WeightedTree> uneven_trees(const Problem& problem) {
    std::vector<WeightedTree> trees;
    const bool one_root =
        problem.collective == Collective::reduce || problem.collective == Collective::broadcast;
    for (std::uint32_t root = 0; root < problem.ranks; ++root) {
        const std::uint32_t top = one_root ? problem.root : root;
        WeightedTree tree{std::vector<std::uint32_t>(problem.ranks), 1.0 + root % 3};
        for (std::uint32_t i = 0; i < problem.ranks; ++i) {
            // Every second rank hangs on the one two before it: deep and wide.
            const std::uint32_t parent = i == 0 ? 0 : i % 2 == 1 ? i - 1 : i - 2;
            tree.parents[(top + i) % problem.ranks] = (top + parent) % problem.ranks;
        }
        trees.push_back(std::move(tree));
    }
    return trees;
}

TEST_P(VerifyStrategies, ForestsOfAnyTreesAreProved) {
    for (const Collective collective : all_collectives) {
        for (const std::uint32_t lanes : {1u, 2u, 8u, 32u}) {
            for (const std::uint32_t depth : {1u, 2u, 4u}) {
                Problem problem{.collective = collective,
                                .ranks = GetParam(),
                                .root = GetParam() / 2,
                                .lanes = lanes,
                                .depth = depth};
                problem.trees = uneven_trees(problem);
                for (const std::uint32_t units_per_lane : {0u, 1u, 3u}) {
                    problem.units_per_lane = units_per_lane;
                    expect_verified(Strategy::forest(), problem);
                }
                problem.units_per_lane = 0;
                problem.leaves_push = true;
                expect_verified(Strategy::forest(), problem);
                problem.fetches = true;
                expect_verified(Strategy::forest(), problem);
            }
        }
    }
}

TEST(Forest, WhoFetchesNeedsNoSlotsAndWritesToItsOwnMemoryOnly) {
    Problem problem{.ranks = 6, .lanes = 32, .depth = 4, .fetches = true};
    // A chain and a bush: ranks with no, one and several children.
    problem.trees = {{{0, 0, 1, 0, 3, 4}, 1}, {{1, 2, 2, 2, 5, 2}, 1}};
    const Schedule schedule = build(Strategy::forest(), problem);
    EXPECT_EQ(verify(schedule).problem, "");
    EXPECT_TRUE(schedule.chunked);
    EXPECT_TRUE(schedule.channels.empty());
    EXPECT_GT(schedule.unit_shares.size(), 2u);  // repeated, because there are lanes
    for (const Lane& lane : schedule.lanes) {
        for (const Step& step : lane.steps) {
            for (const Operand& operand : step.destinations) EXPECT_EQ(operand.index, lane.rank);
            EXPECT_LE(step.sources.size(), 2u);
        }
    }
    // Other collectives have ranks without an output.
    problem.collective = Collective::reduce;
    EXPECT_FALSE(build(Strategy::forest(), problem).chunked);
}

TEST(Forest, TreesThatMakeNoSenseAreNamed) {
    const auto message = [](std::vector<WeightedTree> trees) -> std::string {
        try {
            build(Strategy::forest(), {.ranks = 3, .trees = std::move(trees)});
        } catch (const InvalidArgument& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_EQ(message({{{0, 0, 0}, 1}}), "");
    EXPECT_EQ(message({{{0, 0}, 1}}), "tree 0 has 2 parents for 3 ranks");
    EXPECT_EQ(message({{{0, 0, 0}, 1}, {{0, 0, 7}, 1}}), "tree 1: the parent of rank 2 is 7");
    EXPECT_EQ(message({{{0, 2, 1}, 1}}), "tree 0: rank 1 does not lead to a root");
    EXPECT_EQ(message({{{0, 1, 0}, 1}}), "tree 0 has 2 roots");
    EXPECT_EQ(message({{{0, 0, 0}, 0}}), "tree 0 has the weight 0");
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

TEST_P(VerifyStrategies, OneRankMayFoldEverything) {
    const std::uint32_t ranks = GetParam();
    for (const Collective collective : all_collectives) {
        for (const std::uint32_t lanes : {1u, 3u}) {
            const Problem problem{.collective = collective,
                                  .ranks = ranks,
                                  .root = ranks / 2,
                                  .lanes = lanes,
                                  .one_folds = true};
            expect_verified(Strategy::direct(2), problem);
            const Schedule schedule = build(Strategy::direct(2), problem);
            if (!schedule.unit_owners.empty()) continue;
            for (const Lane& lane : schedule.lanes) {
                for (const Step& step : lane.steps) {
                    EXPECT_TRUE(step.sources.empty() || lane.rank == ranks / 2);
                }
            }
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

/// A push waits for a slot, and so knows what the receiver did before it freed that one; not what
/// it did since, although the receiver may be further when the proof gets there.
TEST(Verify, ASlotSaysWhatHappenedBeforeItWasFree) {
    const auto problem_with_slots = [](std::uint32_t depth) {
        const auto give = [](std::uint32_t unit, const Operand& to) {
            return Step{.unit = unit, .sources = {input_of(0)}, .destinations = {output_of(0), to}};
        };
        const auto take = [](std::uint32_t unit) {
            return Step{.unit = unit,
                        .sources = {{Operand::Kind::channel, 0}},
                        .destinations = {output_of(1)}};
        };
        const Operand channel{Operand::Kind::channel, 0};
        Schedule schedule{.name = "two writers",
                          .collective = Collective::broadcast,
                          .ranks = 2,
                          .destinations = {0, 1},
                          .unit_shares = {1, 1, 1, 1}};
        schedule.channels = {{.from_lane = 0, .to_lane = 1, .depth = depth}};
        schedule.events = {{.from_lane = 0, .to_lane = 1}};
        schedule.lanes = {
            {.rank = 0,
             .steps = {give(0, channel),
                       give(1, channel),
                       give(2, channel),
                       give(3, output_of(1)),
                       {.unit = 0, .signals = {0}}}},
            {.rank = 1,
             .steps = {take(0),
                       {.unit = 3, .sources = {input_of(0)}, .destinations = {output_of(1)}},
                       take(1),
                       take(2),
                       {.unit = 0, .waits = {0}}}}};
        return verify(schedule).problem;
    };
    EXPECT_EQ(problem_with_slots(1), "");
    EXPECT_THAT(
        problem_with_slots(2),
        testing::HasSubstr("rank 0, lane 0, step 3, chunk 0: it writes the output of rank 1 "
                           "while rank 1, lane 0, step 1 may still write it"));
}

/// The same of events: a wait knows what was done before its own signal, not before later ones.
TEST(Verify, AnEventSaysWhatHappenedBeforeItWasSignalled) {
    const auto problem_when_read_after = [](std::size_t waits) {
        Schedule schedule{.name = "early reader",
                          .collective = Collective::broadcast,
                          .ranks = 2,
                          .destinations = {0, 1},
                          .unit_shares = {1}};
        schedule.events = {{.from_lane = 0, .to_lane = 1}};
        const Step signal{.unit = 0, .signals = {0}};
        const Step wait{.unit = 0, .waits = {0}};
        schedule.lanes = {{.rank = 0,
                           .steps = {signal,
                                     signal,
                                     {.unit = 0,
                                      .sources = {input_of(0)},
                                      .destinations = {output_of(0), output_of(1)}},
                                     signal,
                                     signal}},
                          {.rank = 1, .steps = {wait, wait, wait, wait}}};
        Step& reader = schedule.lanes[1].steps[waits - 1];
        reader.sources = {output_of(1)};
        reader.destinations = {output_of(1)};
        return verify(schedule).problem;
    };
    EXPECT_THAT(problem_when_read_after(1), testing::HasSubstr("it reads the output of rank 1"));
    EXPECT_THAT(problem_when_read_after(2), testing::HasSubstr("it reads the output of rank 1"));
    EXPECT_EQ(problem_when_read_after(3), "");
    EXPECT_EQ(problem_when_read_after(4), "");
}

/// Only what tells nobody may leave chunks out.
TEST(Lower, LanesThatOnlyWaitHaveAStride) {
    Schedule schedule{.name = "relay", .ranks = 2, .destinations = {0, 1}, .unit_shares = {1}};
    schedule.events = {{.from_lane = 0, .to_lane = 1}, {.from_lane = 1, .to_lane = 2}};
    schedule.lanes = {{.rank = 0, .steps = {{.unit = 0, .signals = {0}}}},
                      {.rank = 1, .steps = {{.unit = 0, .waits = {0}, .signals = {1}}}},
                      {.rank = 0, .steps = {{.unit = 0, .waits = {1}}}}};
    const Placement placement{.flags = std::vector<std::uint32_t*>(list_flags(schedule).size()),
                              .slots = {}};
    const LoweredProgram first = lower(schedule, 0, placement);
    const LoweredProgram second = lower(schedule, 1, placement);
    ASSERT_EQ(first.lanes.size(), 2u);
    ASSERT_EQ(second.lanes.size(), 1u);
    EXPECT_EQ(first.lanes[0].stride, 1u);
    EXPECT_EQ(first.lanes[1].stride, kernels::waiting_stride);
    EXPECT_EQ(second.lanes[0].stride, 1u);
}

/// Brief calls that leave out more than they may.
TEST(Verify, BriefCallsNeedTheOtherFlags) {
    const auto problem_of = [](const Schedule& schedule, auto damage) {
        BriefCall brief = brief_call(schedule);
        EXPECT_EQ(verify(schedule, brief).problem, "");
        damage(brief);
        return verify(schedule, brief).problem;
    };
    const Schedule ring = build(Strategy::ring(), {.ranks = 4, .lanes = 1, .depth = 2});
    EXPECT_THAT(problem_of(ring, [](BriefCall& brief) { brief.early.assign(4, true); }),
                testing::HasSubstr("it reads a slot of channel"));
    EXPECT_THAT(problem_of(ring, [](BriefCall& brief) { brief.roomy.assign(4, true); }),
                testing::HasSubstr("it writes a slot of channel"));
    // Rank 1 is told nothing by the root, so it does not know whether its last push was read.
    const Schedule chain = build(Strategy::tree(1), {.collective = Collective::reduce,
                                                     .ranks = 2,
                                                     .destinations = {0},
                                                     .lanes = 1,
                                                     .depth = 1});
    const auto push_early = [&](BriefCall& brief) {
        for (std::size_t lane = 0; lane < chain.lanes.size(); ++lane) {
            brief.early_steps[lane] = chain.lanes[lane].rank == 1 ? 1 : 0;
        }
        brief.early.assign(chain.channels.size(), true);
    };
    EXPECT_THAT(problem_of(chain, push_early), testing::HasSubstr("it writes a slot of channel"));
    const Schedule direct = build(Strategy::direct(2), {.ranks = 3});
    EXPECT_THAT(problem_of(direct, [](BriefCall& brief) { brief.early_steps[0] = 1; }),
                testing::HasSubstr("it reads the input of rank 1"));
}

TEST(Verify, BriefCallsPushEarlyWhereTheyCan) {
    const auto early_of_lane_0 = [](const Strategy& strategy, std::uint32_t depth) {
        return brief_call(build(strategy, {.ranks = 3, .lanes = 1, .depth = depth})).early_steps[0];
    };
    EXPECT_EQ(early_of_lane_0(Strategy::direct(1), 2), 1u);
    EXPECT_EQ(early_of_lane_0(Strategy::direct(1), 1), 0u);
    EXPECT_EQ(early_of_lane_0(Strategy::direct(2), 2), 0u);
}

}  // namespace
}  // namespace rondo
