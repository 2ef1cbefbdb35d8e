// verify(): accepts what every strategy builds, and rejects schedules with one thing wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <tuple>

#include "rondo/schedule.hpp"
#include "schedule/builder.hpp"
#include "schedule/lower.hpp"
#include "schedule/verify.hpp"
#include "tests/schedule/problems.hpp"

namespace rondo {
namespace {

using namespace rondo::test;

void expect_verified(const BuildInput& input) {
    const std::optional<Schedule> schedule = try_build(input);
    if (!schedule) return;
    EXPECT_EQ(verify(*schedule).problem, "")
        << to_string(input.strategy) << " " << to_string(input.collective) << " ranks "
        << input.ranks() << " root " << input.root << " variant " << input.variant << " depth "
        << input.depth << "\n"
        << (input.ranks() < 5 ? to_string(*schedule) : "");
}

class VerifyStrategies : public testing::TestWithParam<std::uint32_t> {};

TEST_P(VerifyStrategies, EveryStrategyAndCollectiveIsProved) {
    const MachineView machine(GetParam());
    for (const Collective collective : all_collectives) {
        for (const Strategy& strategy : sample_strategies()) {
            BuildInput input{.machine = machine,
                             .collective = collective,
                             .root = machine.ranks() / 2,
                             .strategy = strategy};
            for (input.depth = 1; input.depth <= 4; input.depth *= 2) {
                for (const std::uint32_t variant : variants_of(input)) {
                    input.variant = variant;
                    expect_verified(input);
                }
            }
        }
    }
}

/// Chains and brooms of different weights, rooted where the collective wants them.
std::vector<WeightedTree> uneven_trees(std::uint32_t ranks, Collective collective,
                                       std::uint32_t root) {
    std::vector<WeightedTree> trees;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const std::uint32_t top = has_root(collective) ? root : rank;
        WeightedTree tree{std::vector<std::uint32_t>(ranks), 1.0 + rank % 3};
        for (std::uint32_t i = 0; i < ranks; ++i) {
            // Every second rank hangs on the one two before it: deep and wide.
            const std::uint32_t parent = i == 0 ? 0 : i % 2 == 1 ? i - 1 : i - 2;
            tree.parents[(top + i) % ranks] = (top + parent) % ranks;
        }
        trees.push_back(std::move(tree));
    }
    return trees;
}

TEST_P(VerifyStrategies, ForestsOfAnyTreesAreProved) {
    const std::uint32_t ranks = GetParam();
    for (const Collective collective : all_collectives) {
        MachineView machine(ranks);
        machine.set_trees(uneven_trees(ranks, collective, ranks / 2));
        BuildInput input{.machine = machine,
                         .collective = collective,
                         .root = ranks / 2,
                         .strategy = Strategy::forest()};
        for (input.depth = 1; input.depth <= 4; input.depth *= 2) {
            for (input.variant = 0; input.variant < 3; ++input.variant) expect_verified(input);
        }
    }
}

TEST(Forest, TreesFromElsewhereAreNamed) {
    const auto message = [](Collective collective, std::vector<WeightedTree> trees) -> std::string {
        MachineView machine(3);
        machine.set_trees(std::move(trees));
        try {
            build({.machine = machine,
                   .collective = collective,
                   .root = 1,
                   .strategy = Strategy::forest()});
        } catch (const InvalidArgument& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_EQ(message(Collective::broadcast, {{{1, 1, 1}, 1}}), "");
    EXPECT_EQ(message(Collective::broadcast, {{{0, 0, 0}, 1}}),
              "forest: a tree from rank 1 is rooted at rank 0");
    EXPECT_EQ(message(Collective::all_gather, {{{0, 0, 0}, 1}, {{1, 1, 1}, 1}}),
              "forest: no tree is rooted at rank 2");
}

TEST_P(VerifyStrategies, DestinationsMayBeAnyRanks) {
    const MachineView machine(GetParam());
    const std::uint32_t last = machine.ranks() - 1;
    for (const Collective collective : {Collective::reduce, Collective::broadcast}) {
        for (const Strategy& strategy : sample_strategies()) {
            for (const std::vector<std::uint32_t>& destinations :
                 {std::vector{0u}, std::vector{last}, std::vector{0u, last}}) {
                const bool reduce = collective == Collective::reduce;
                BuildInput input{.machine = machine,
                                 .collective = collective,
                                 .root = reduce ? destinations.back() : machine.ranks() / 3,
                                 .destinations = destinations,
                                 .strategy = strategy};
                for (const std::uint32_t variant : variants_of(input)) {
                    input.variant = variant;
                    expect_verified(input);
                }
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Ranks, VerifyStrategies, testing::Range(1u, 17u));

TEST(Verify, SixtyFourRanks) {
    const MachineView machine(64);
    for (const Collective collective : all_collectives) {
        for (const Strategy& strategy : {Strategy::ring(), Strategy::tree(2), Strategy::direct(2),
                                         Strategy::hierarchical_copy(8)}) {
            expect_verified({.machine = machine, .collective = collective, .strategy = strategy});
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

/// A ring, whose slots a call of several chunks uses again and again.
Schedule small_ring() {
    return simple(Strategy::ring(), 3);
}

/// Brief calls leave credits behind; who comes with several chunks then would wait for them.
TEST(Verify, FlagsThatBriefCallsLeftOutAreBroughtUp) {
    for (const Strategy& strategy : {Strategy::tree(1), Strategy::direct(1)}) {
        const Schedule schedule = simple(strategy, 3);
        Shortcuts shortcuts = shortcuts_of(schedule);
        EXPECT_EQ(verify(schedule, shortcuts).problem, "");
        shortcuts.catches_up = false;
        EXPECT_THAT(verify(schedule, shortcuts).problem, testing::HasSubstr("waits for ever for"));
    }
}

/// What moves data or tells others may not leave chunks out, even if its last one is there.
TEST(Verify, OnlyLanesThatTellNobodyMayLeaveChunksOut) {
    const Schedule schedule = small_ring();
    for (std::size_t lane = 0; lane < schedule.lanes.size(); ++lane) {
        Shortcuts shortcuts = shortcuts_of(schedule);
        EXPECT_FALSE(shortcuts.strides[lane]);
        shortcuts.strides[lane] = true;
        EXPECT_NE(verify(schedule, shortcuts).problem, "") << lane;
    }
    // A rank that only waits until its buffers were read may.
    Schedule reader{.name = "reader",
                    .collective = Collective::broadcast,
                    .ranks = 2,
                    .destinations = {1},
                    .unit_shares = {1},
                    .chunked = true};
    reader.events = {{.from_lane = 1, .to_lane = 0}};
    reader.lanes = {{.rank = 0, .steps = {{.unit = 0, .waits = {0}}}},
                    {.rank = 1,
                     .steps = {{.unit = 0,
                                .sources = {input_of(0)},
                                .destinations = {output_of(1)},
                                .signals = {0}}}}};
    EXPECT_TRUE(shortcuts_of(reader).strides[0]);
    EXPECT_EQ(verify(reader).problem, "");
    // Waiting for one event too few at the last chunk: its buffers are still read.
    reader.lanes[0].steps[0].waits.clear();
    reader.lanes[1].steps[0].signals.clear();
    reader.events.clear();
    EXPECT_THAT(verify(reader).problem, testing::HasSubstr("after that rank has left"));
}

/// Useless giants are refused, or judged in no time.
TEST(Verify, TakesNoLongerThanASecond) {
    const auto seconds_and_verdict = [](const Schedule& schedule) {
        const auto begin = std::chrono::steady_clock::now();
        std::string verdict;
        try {
            verdict = verify(schedule).problem;
        } catch (const InvalidArgument& error) {
            verdict = error.what();
        }
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
        return std::pair(seconds.count(), verdict);
    };
    const double most = 10;  // sanitizers and busy machines
    Schedule signals = small_ring();
    const auto added = static_cast<std::uint32_t>(signals.events.size());
    signals.events.push_back({.from_lane = 0, .to_lane = 1});
    for (int i = 0; i < 200'000; ++i) {
        signals.lanes[0].steps.push_back({.unit = 0, .signals = {added}});
        signals.lanes[1].steps.push_back({.unit = 0, .waits = {added}});
    }
    auto [seconds, verdict] = seconds_and_verdict(signals);
    EXPECT_LT(seconds, most) << verdict;
    signals.lanes[0].steps.back().signals.assign(200'000, added);
    std::tie(seconds, verdict) = seconds_and_verdict(signals);
    EXPECT_LT(seconds, most);
    EXPECT_THAT(verdict, testing::HasSubstr("it has 200000 events"));
    Schedule channels = small_ring();
    channels.channels.resize(20'000, {.from_lane = 0, .to_lane = 1, .depth = 1024});
    std::tie(seconds, verdict) = seconds_and_verdict(channels);
    EXPECT_LT(seconds, most);
    EXPECT_THAT(verdict, testing::HasSubstr("channel 3 is never used"));
    Schedule deep = simple(Strategy::ring(), 100, Collective::all_reduce, 1024);
    std::tie(seconds, verdict) = seconds_and_verdict(deep);
    EXPECT_LT(seconds, most);
    EXPECT_THAT(verdict, testing::HasSubstr("too large to be proved"));
}

/// Only what tells nobody may leave chunks out.
TEST(Lower, LanesThatOnlyWaitHaveAStride) {
    Schedule schedule{.name = "relay", .ranks = 2, .destinations = {0, 1}, .unit_shares = {1}};
    schedule.events = {{.from_lane = 0, .to_lane = 1}, {.from_lane = 1, .to_lane = 2}};
    schedule.lanes = {{.rank = 0, .steps = {{.unit = 0, .signals = {0}}}},
                      {.rank = 1, .steps = {{.unit = 0, .waits = {0}, .signals = {1}}}},
                      {.rank = 0, .steps = {{.unit = 0, .waits = {1}}}}};
    const Placement placement{.flag = [](std::size_t) { return nullptr; }, .slots = {}};
    const Lowering lowering(schedule);
    const LoweredProgram first = lowering.program(0, placement);
    const LoweredProgram second = lowering.program(1, placement);
    ASSERT_EQ(first.lanes.size(), 2u);
    ASSERT_EQ(second.lanes.size(), 1u);
    EXPECT_EQ(first.lanes[0].stride, 1u);
    EXPECT_EQ(first.lanes[1].stride, kernels::waiting_stride);
    EXPECT_EQ(second.lanes[0].stride, 1u);
}

/// Brief calls that leave out more than they may.
TEST(Verify, BriefCallsNeedTheOtherFlags) {
    const auto problem_of = [](const Schedule& schedule, auto damage) {
        Shortcuts shortcuts = shortcuts_of(schedule);
        EXPECT_EQ(verify(schedule, shortcuts).problem, "");
        damage(shortcuts.brief);
        return verify(schedule, shortcuts).problem;
    };
    const Schedule ring = simple(Strategy::ring(), 4);
    EXPECT_THAT(problem_of(ring, [](BriefCall& brief) { brief.early.assign(4, true); }),
                testing::HasSubstr("it reads "));
    EXPECT_THAT(problem_of(ring, [](BriefCall& brief) { brief.roomy.assign(4, true); }),
                testing::HasSubstr("it writes a slot of channel"));
    // Rank 1 is told nothing by the root, so it does not know whether its last push was read.
    const MachineView two(2);
    const Schedule chain = build({.machine = two,
                                  .collective = Collective::reduce,
                                  .destinations = {0},
                                  .strategy = Strategy::tree(1),
                                  .variant = 1,
                                  .depth = 1});
    const auto push_early = [&](BriefCall& brief) {
        for (std::size_t lane = 0; lane < chain.lanes.size(); ++lane) {
            brief.early_steps[lane] = chain.lanes[lane].rank == 1 ? 1 : 0;
        }
        brief.early.assign(chain.channels.size(), true);
    };
    EXPECT_THAT(problem_of(chain, push_early), testing::HasSubstr("it writes a slot of channel"));
    const Schedule direct = simple(Strategy::direct(2), 3);
    EXPECT_THAT(problem_of(direct, [](BriefCall& brief) { brief.early_steps[0] = 1; }),
                testing::HasSubstr("it reads the input of rank 1"));
}

TEST(Verify, BriefCallsPushEarlyWhereTheyCan) {
    const auto early_of_lane_0 = [](const Strategy& strategy, std::uint32_t depth) {
        return brief_call(simple(strategy, 3, Collective::all_reduce, depth)).early_steps[0];
    };
    EXPECT_EQ(early_of_lane_0(Strategy::direct(1), 2), 1u);
    EXPECT_EQ(early_of_lane_0(Strategy::direct(1), 1), 0u);
    EXPECT_EQ(early_of_lane_0(Strategy::direct(2), 2), 0u);
}

}  // namespace
}  // namespace rondo
