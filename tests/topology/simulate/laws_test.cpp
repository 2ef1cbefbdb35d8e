// What the simulator must say where the answer can be computed by hand.
#include <gtest/gtest.h>

#include "tests/topology/simulate/support.hpp"

namespace rondo::test {
namespace {

using simulation::fence_seconds;
using simulation::flag_seconds;
using simulation::launch_seconds;
using simulation::PathKind;

constexpr std::int64_t ten = 10'000'000'000;

double seconds_of(const Schedule& schedule, const Topology& topology, std::uint64_t bytes) {
    const Routing routing(topology, {});
    return simulate(schedule, routing, {.bytes = bytes, .coarseness = 0}).seconds;
}

TEST(SimulatorLaws, OneTransferTakesItsLatencyAndItsBytes) {
    const std::uint64_t bytes = 100'000'000;
    const double expected = launch_seconds + 1e8 / 1e10 + fence_seconds(PathKind::fabric) +
                            flag_seconds(PathKind::memory) * 0;
    EXPECT_NEAR(seconds_of(copies(2, {{0, 1}}), star(2, ten), bytes), expected, 1e-9);
    const double pci = launch_seconds + 1e8 / 1e10 + fence_seconds(PathKind::pci);
    EXPECT_NEAR(seconds_of(copies(2, {{0, 1}}), star(2, ten, LinkKind::pci), bytes), pci, 1e-9);
}

TEST(SimulatorLaws, TransfersThatShareALinkShareItFairly) {
    // Both leave rank 0: each gets half. The message is cut in two.
    const double together = seconds_of(copies(3, {{0, 1}, {0, 2}}), star(3, ten), 200'000'000);
    EXPECT_NEAR(together, launch_seconds + 2e8 / 1e10 + fence_seconds(PathKind::fabric), 1e-9);
    // From different ranks to different ranks: they do not meet.
    const double apart = seconds_of(copies(4, {{0, 1}, {2, 3}}), star(4, ten), 200'000'000);
    EXPECT_NEAR(apart, launch_seconds + 1e8 / 1e10 + fence_seconds(PathKind::fabric), 1e-9);
}

TEST(SimulatorLaws, AShorterTransferLeavesItsShareToTheOthers) {
    Schedule schedule = copies(3, {{0, 1}, {0, 2}});
    schedule.unit_shares = {1, 3};  // the first ends after twice its bytes have left rank 0
    const double seconds = seconds_of(schedule, star(3, ten), 400'000'000);
    EXPECT_NEAR(seconds, launch_seconds + 4e8 / 1e10 + fence_seconds(PathKind::fabric), 1e-9);
}

TEST(SimulatorLaws, ABlockHasALimitOfItsOwn) {
    const Topology wide = star(2, 1000 * ten);
    const double lane = simulation::lane_bandwidth(wide.nodes()[0].gpu);
    EXPECT_NEAR(seconds_of(copies(2, {{0, 1}}), wide, 100'000'000),
                launch_seconds + 1e8 / lane + fence_seconds(PathKind::fabric), 1e-9);
}

TEST(SimulatorLaws, TheOtherBandwidthModelIsUsedWhenAskedFor) {
    Topology topology = load_topology("dgx1_v100");
    const Schedule schedule = copies(2, {{0, 1}});
    const auto seconds = [&](BandwidthModel model) {
        const Routing routing(topology, {.gpus = {0, 1}, .model = model});
        return simulate(schedule, routing, {.bytes = 1'000'000'000}).seconds;
    };
    EXPECT_NEAR(seconds(BandwidthModel::nccl), 1.0 / 20, 2e-5);     // one NVLink: 20 GB/s
    EXPECT_NEAR(seconds(BandwidthModel::nominal), 1.0 / 25, 2e-5);  // 25 GB/s
}

TEST(SimulatorLaws, ARingTakesTheTimeOfItsStepsAndItsBytes) {
    // 2(N-1) steps of a slice, one lane: each a fence and a flag later than the one before.
    const std::uint32_t ranks = 4;
    const Topology topology = star(ranks, ten);
    const Schedule ring = make(Strategy::ring(), ranks, 2);
    const Routing routing(topology, {});
    const Simulation result =
        simulate(ring, routing, {.bytes = 4'000'000, .slot_bytes = 1 << 20, .coarseness = 0});
    const double step =
        1e6 / 1e10 + fence_seconds(PathKind::fabric) + flag_seconds(PathKind::fabric);
    const double expected = launch_seconds + flag_seconds(PathKind::fabric) + 6 * step;
    EXPECT_NEAR(result.seconds, expected, 0.02 * expected);
    EXPECT_EQ(result.chunks, 1u);
    EXPECT_NEAR(result.busbw, result.algbw * 1.5, 1);
}

TEST(SimulatorLaws, ASlotMoreLetsTheSenderRunAhead) {
    const Topology topology = star(3, ten);
    const Routing routing(topology, {});
    const auto seconds = [&](std::uint32_t depth) {
        const Schedule chain = make(Strategy::tree(1), 3, depth);
        return simulate(chain, routing, {.bytes = 64 << 20, .slot_bytes = 256 << 10}).seconds;
    };
    EXPECT_GT(seconds(1), 1.2 * seconds(2));
    EXPECT_GE(seconds(2), seconds(4));
}

TEST(SimulatorLaws, LongPipelinesAreExtrapolated) {
    const Topology topology = star(4, ten);
    const Routing routing(topology, {});
    const Schedule tree = make(Strategy::tree(2), 4, 4);
    const SimulationOptions options{.bytes = 32 << 20, .slot_bytes = 128 << 10};
    SimulationOptions complete = options;
    complete.most_chunks = 100'000;
    const Simulation quick = simulate(tree, routing, options);
    const Simulation slow = simulate(tree, routing, complete);
    EXPECT_LT(quick.chunks_run, slow.chunks_run);
    EXPECT_EQ(slow.chunks_run, slow.chunks);
    EXPECT_NEAR(quick.seconds, slow.seconds, 0.02 * slow.seconds);
}

TEST(SimulatorLaws, ReplicasShareTheWorkUntilTheLinkIsFull) {
    // One block carries 26.5 GB/s, the link 100.
    const Topology topology = star(2, 10 * ten);
    const double lane = simulation::lane_bandwidth(topology.nodes()[0].gpu);
    const Routing routing(topology, {});
    const auto seconds = [&](std::uint32_t replicas) {
        return simulate(copies(2, {{0, 1}}), routing,
                        {.bytes = 100'000'000, .replicas = replicas, .coarseness = 0})
                   .seconds -
               launch_seconds - fence_seconds(PathKind::fabric);
    };
    EXPECT_NEAR(seconds(1), 1e8 / lane, 1e-9);
    EXPECT_NEAR(seconds(2), 1e8 / lane / 2, 1e-9);
    EXPECT_NEAR(seconds(3), 1e8 / lane / 3, 1e-9);
    EXPECT_NEAR(seconds(16), 1e8 / 1e11, 1e-9);
}

TEST(SimulatorLaws, ReplicasThatAreOutOfStepHideEachOthersStalls) {
    const Topology topology = star(4, ten);
    const Routing routing(topology, {});
    const Simulator ring(make(Strategy::ring(), 4, 4), routing);
    const auto run = [&](std::uint32_t replicas) {
        return ring.run({.bytes = 64 << 20,
                         .slot_bytes = (128u << 10) / replicas,
                         .replicas = replicas,
                         .most_chunks = UINT32_MAX,
                         .coarseness = 0});
    };
    // The same bytes per chunk in all: a single block stalls at every flag.
    EXPECT_GT(run(1).seconds, 1.15 * run(4).seconds);
    EXPECT_EQ(run(1).groups, 1u);
    EXPECT_EQ(run(4).groups, 4u);
    // More replicas than groups are about the same as so many groups.
    EXPECT_EQ(run(8).groups, 4u);
    EXPECT_NEAR(run(8).seconds, run(4).seconds, 0.1 * run(4).seconds);
    EXPECT_GE(run(4).seconds, ring.least_seconds(64 << 20, 4));
}

TEST(SimulatorLaws, AllBytesOfAllReplicasMove) {
    // Uneven units and shifts: whatever the cut, links carry what the steps say.
    Schedule schedule = copies(3, {{0, 1}, {0, 2}});
    schedule.unit_shares = {1, 3};
    schedule.chunked = true;
    const Topology topology = star(3, ten);
    const Routing routing(topology, {});
    for (const std::uint32_t replicas : {1u, 3u, 7u}) {
        const Simulation result = simulate(schedule, routing,
                                           {.bytes = 40'000'000,
                                            .slot_bytes = 100'000,
                                            .replicas = replicas,
                                            .most_chunks = UINT32_MAX,
                                            .coarseness = 0,
                                            .timeline = true});
        double bytes = 0;
        for (const StepTime& step : result.steps) bytes += step.bytes;
        EXPECT_NEAR(bytes, 40e6, 1) << replicas;
    }
}

TEST(SimulatorLaws, CoarsenessChangesLittle) {
    const Topology topology = load_topology("dgx1_v100");
    const Routing routing(topology, {});
    MachineView machine(8);
    machine.set_ring_order({0, 1, 2, 3, 7, 6, 5, 4});
    const Schedule ring = build({.machine = machine, .strategy = Strategy::ring(), .depth = 4});
    const auto seconds = [&](double coarseness) {
        return simulate(ring, routing, {.bytes = 64 << 20, .coarseness = coarseness}).seconds;
    };
    EXPECT_NEAR(seconds(0.04), seconds(0), 0.02 * seconds(0));
}

TEST(SimulatorLaws, LinksCarryWhatTheStepsSay) {
    const Topology topology = star(2, ten);
    const Routing routing(topology, {});
    const Simulation result = simulate(copies(2, {{0, 1}}), routing, {.bytes = 100'000'000});
    ASSERT_EQ(result.links.size(), 2u);  // to the switch and from it
    for (const LinkUse& use : result.links) {
        EXPECT_NEAR(use.bytes, 1e8, 1);
        EXPECT_NEAR(use.busy, 1e8 / 1e10 / result.seconds, 1e-6);
    }
    const Simulator simulator(copies(2, {{0, 1}}), routing);
    EXPECT_LE(simulator.least_seconds(100'000'000, 1), result.seconds);
}

TEST(SimulatorLaws, WhatCannotBeSimulatedIsSaid) {
    const Topology topology = load_topology("dgx1_v100");
    const Routing nvlink(topology, {.gpus = {0, 5}, .fabric_only = true});
    const auto message = [](const auto& call) -> std::string {
        try {
            call();
        } catch (const InvalidArgument& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_NE(message([&] {
                  simulate(copies(2, {{0, 1}}), nvlink, {.bytes = 1});
              }).find("nothing joins GPU 0 and GPU 5"),
              std::string::npos);
    EXPECT_NE(message([&] {
                  simulate(copies(3, {{0, 1}}), nvlink, {.bytes = 1});
              }).find("for 3 ranks; there are 2 GPUs"),
              std::string::npos);
    Schedule stuck = copies(2, {{0, 1}});
    stuck.events.push_back({.from_lane = 0, .to_lane = 0});
    stuck.lanes[0].steps[0].waits = {0};
    const Routing both(topology, {.gpus = {0, 1}});
    EXPECT_NE(message([&] { simulate(stuck, both, {.bytes = 1}); }).find("never ends"),
              std::string::npos);
}

}  // namespace
}  // namespace rondo::test
