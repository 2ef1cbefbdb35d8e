// Automatic: the fastest candidate by simulation, the same on every rank, with a reason.
#include <gtest/gtest.h>

#include "strategy/planner.hpp"
#include "tests/topology/simulate/support.hpp"

namespace rondo::test {
namespace {

/// How much slower the choice for the size's class is than the best candidate for the very size.
double regret(const Planner& planner, const Task& task) {
    Task of_class = task;
    of_class.bytes = size_class(task.bytes);
    const Choice choice = planner.choose(of_class);
    const double chosen = planner.simulate(task, choice.chosen()).seconds;
    double best = 1e300;
    for (const Candidate& candidate : planner.choose(task, true).candidates) {
        if (candidate.problem.empty()) best = std::min(best, candidate.seconds);
    }
    return chosen / best;
}

class EveryPreset : public testing::TestWithParam<std::string> {};

TEST_P(EveryPreset, TheChoiceIsAtMostTwoPercentSlowerThanTheBestCandidate) {
    const Topology topology = load_topology(GetParam());
    const Planner planner(topology, {});
    // Large machines take long: fewer sizes, none where many chunks are simulated.
    const bool large = topology.gpu_count() > 16;
    double worst = 0;
    for (std::uint64_t bytes = 1 << 10; bytes <= (large ? 64 << 10 : 1 << 30);
         bytes *= large ? 64 : 16) {
        for (const std::uint64_t size : {bytes, bytes + bytes / 3}) {
            if (size > 1 << 30) continue;
            const double slower = regret(planner, {.bytes = size});
            worst = std::max(worst, slower);
            EXPECT_LE(slower, 1.02) << size << " bytes";
        }
    }
    RecordProperty("worst", std::to_string(worst));
}

INSTANTIATE_TEST_SUITE_P(Presets, EveryPreset, testing::ValuesIn(preset_names()),
                         [](const auto& parameter) { return parameter.param; });

TEST(Choice, ClassesAreSharedAndFine) {
    EXPECT_EQ(size_class(0), 8u);
    EXPECT_EQ(size_class(8), 8u);
    EXPECT_EQ(size_class(1024), 1024u);
    EXPECT_EQ(size_class(1025), 1152u);
    EXPECT_EQ(size_class(1280), 1280u);
    for (std::uint64_t bytes = 9; bytes < 1 << 22; bytes = bytes * 9 / 8 + 1) {
        EXPECT_GE(size_class(bytes), bytes);
        EXPECT_LE(size_class(bytes), bytes * 9 / 8 + 8);
        EXPECT_EQ(size_class(size_class(bytes)), size_class(bytes));
    }
}

TEST(Choice, IsTheSameForEveryRank) {
    const Topology topology = load_topology("dgx1_v100");
    const Task task{.bytes = 1 << 20};
    const Choice first = Planner(topology, {}).choose(task);
    const Choice second = Planner(topology, {}).choose(task);
    EXPECT_EQ(first.chosen().strategy, second.chosen().strategy);
    EXPECT_EQ(first.chosen().cutting, second.chosen().cutting);
    EXPECT_EQ(first.reason, second.reason);
}

TEST(Choice, EveryCollectiveHasOneAndItsScheduleIsProved) {
    const Topology topology = load_topology("dgx1_v100");
    const Planner planner(topology, {.gpus = {0, 1, 2, 3, 4}});
    for (const Collective collective :
         {Collective::all_reduce, Collective::reduce, Collective::broadcast,
          Collective::reduce_scatter, Collective::all_gather}) {
        for (const std::uint64_t bytes : {4 << 10, 1 << 20}) {
            const Task task{.collective = collective, .bytes = bytes, .root = 2};
            const Choice choice = planner.choose(task);
            EXPECT_EQ(verify(planner.schedule(task, choice.chosen())).problem, "")
                << to_string(collective) << " " << to_string(choice.chosen().strategy);
            EXPECT_LE(static_cast<double>(bytes) / choice.chosen().seconds,
                      planner.bound(task) * 1.001);
        }
    }
}

TEST(Choice, TellsWhyARingIsBadWhereOneHopIsNarrow) {
    const Topology topology = load_topology("dgx1_v100");
    const Planner planner(topology, {.gpus = {0, 1, 2, 3, 4}});
    const Choice choice = planner.choose({.bytes = 64 << 20});
    EXPECT_EQ(choice.chosen().strategy, Strategy::forest());
    EXPECT_NE(choice.reason.find("A ring (best order 0-"), std::string::npos) << choice.reason;
    EXPECT_NE(choice.reason.find("6 GB/s"), std::string::npos) << choice.reason;
    EXPECT_NE(choice.reason.find("runner-up"), std::string::npos) << choice.reason;
}

TEST(Choice, RingsFollowTheWidestHops) {
    const Topology topology = load_topology("dgx1_v100");
    const Planner planner(topology, {});
    const auto& order = planner.ring_order();
    for (std::size_t i = 0; i < order.size(); ++i) {
        EXPECT_GE(planner.routing().bandwidth(order[i], order[(i + 1) % order.size()]), 20e9);
    }
    // Two nodes: the ring crosses between them twice and no more.
    const Topology nodes = load_topology("dgx_a100_x2");
    const Planner both(nodes, {});
    int crossings = 0;
    for (std::size_t i = 0; i < 16; ++i) {
        const auto next = both.ring_order()[(i + 1) % 16];
        crossings += (both.ring_order()[i] < 8) != (next < 8) ? 1 : 0;
    }
    EXPECT_EQ(crossings, 2);
}

TEST(Choice, DirectOnlyWhereAllArePeers) {
    const Topology topology = load_topology("dgx1_v100");
    for (const auto& [gpus, peers] :
         {std::pair{std::vector<int>{0, 1, 2, 3}, true}, {std::vector<int>{0, 1, 4, 5}, false}}) {
        const Planner planner(topology, {.gpus = gpus});
        bool direct = false;
        for (const Candidate& candidate : planner.candidates({.bytes = 1 << 10})) {
            direct |= candidate.strategy.kind() == Strategy::Kind::direct;
        }
        EXPECT_EQ(direct, peers);
        EXPECT_EQ(planner.all_are_peers(), peers);
    }
}

TEST(Choice, NothingCanDoWhatLinksDoNotJoin) {
    const Topology topology = load_topology("dgx1_v100");
    const Planner planner(topology, {.gpus = {0, 5}, .fabric_only = true});
    EXPECT_THROW(planner.choose({.bytes = 1 << 20}), InvalidArgument);
    EXPECT_EQ(planner.bound({.bytes = 1 << 20}), 0);
}

}  // namespace
}  // namespace rondo::test
