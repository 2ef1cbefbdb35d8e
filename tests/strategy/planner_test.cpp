// Automatic: the fastest candidate by simulation, the same in every process, with a reason.
#include "strategy/planner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "strategy/strategy_entry.hpp"

namespace rondo::test {
namespace {

const std::vector<Collective> five_collectives{Collective::all_reduce, Collective::reduce,
                                               Collective::broadcast, Collective::reduce_scatter,
                                               Collective::all_gather};

std::uint32_t most_lanes(const Schedule& schedule) {
    std::vector<std::uint32_t> lanes(schedule.ranks);
    for (const Lane& lane : schedule.lanes) ++lanes[lane.rank];
    return std::ranges::max(lanes);
}

std::uint64_t most_scratch(const Plan& plan) {
    std::vector<std::uint64_t> bytes(plan.schedule.ranks);
    for (const Channel& channel : plan.schedule.channels) {
        bytes[plan.schedule.lanes[channel.to_lane].rank] +=
            channel.depth * plan.partition.slot_bytes * plan.partition.replicas;
    }
    return std::ranges::max(bytes);
}

TEST(Planner, ClassesAreSharedAndFine) {
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
    EXPECT_EQ(size_class(UINT64_MAX), std::uint64_t{1} << 63);
}

TEST(Planner, ARepeatedRequestIsALookupAndEqualFormsShareAPlan) {
    const Planner planner(load_topology("hgx_h100"), {});
    const auto plan = planner.plan({.count = 1000, .element_bytes = 4});
    EXPECT_EQ(planner.plan({.count = 1000, .element_bytes = 4}), plan);
    EXPECT_EQ(planner.plan({.count = 4001, .element_bytes = 1, .root = 3}), plan);
    EXPECT_EQ(planner.plan({.count = 4001,
                            .destinations = {7, 6, 5, 4, 3, 2, 1, 0, 0},
                            .tuning = {.first_epoch = 7}}),
              plan);
    EXPECT_NE(planner.plan({.count = 100'000, .element_bytes = 4}), plan);
    EXPECT_EQ(
        planner.canonical({.collective = Collective::reduce, .root = 3, .destinations = {3}}),
        planner.canonical(
            {.collective = Collective::reduce, .count = 3, .root = 3, .destinations = {3, 3}}));
}

TEST(Planner, IsTheSameInEveryProcessWhateverWasAskedBefore) {
    const Request request{.count = 1 << 20};
    const Planner first(load_topology("dgx1_v100"), {});
    const Planner second(load_topology("dgx1_v100"), {});
    for (const std::uint64_t count : {std::uint64_t{64}, std::uint64_t{1} << 16}) {
        second.plan({.count = count});
    }
    EXPECT_EQ(first.plan(request)->strategy, second.plan(request)->strategy);
    EXPECT_EQ(first.plan(request)->partition, second.plan(request)->partition);
    EXPECT_EQ(first.plan(request)->schedule, second.plan(request)->schedule);
}

TEST(Planner, SeveralThreadsGetTheSamePlans) {
    const Planner planner(load_topology("dgx1_v100"), {});
    std::vector<std::vector<std::shared_ptr<const Plan>>> plans(4);
    std::vector<std::thread> threads;
    for (auto& own : plans) {
        threads.emplace_back([&] {
            for (const std::uint64_t count : {std::uint64_t{1000}, std::uint64_t{1} << 18}) {
                own.push_back(planner.plan({.count = count}));
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& own : plans) {
        EXPECT_EQ(own[0], plans[0][0]);
        EXPECT_EQ(own[1], plans[0][1]);
    }
}

TEST(Planner, EveryPlanIsProvedAndKeepsToItsLimits) {
    const PlannerOptions options{
        .gpus = {0, 1, 2, 3, 4}, .max_blocks = 16, .scratch_bytes = 4 << 20};
    const Planner planner(load_topology("dgx1_v100"), options);
    for (const Collective collective : five_collectives) {
        for (const std::uint64_t bytes : {4 << 10, 1 << 20, 64 << 20}) {
            const Request request{.collective = collective, .count = bytes, .root = 2};
            const auto plan = planner.plan(request);
            EXPECT_EQ(verify(plan->schedule).problem, "")
                << plan->strategy << " " << to_string(collective);
            EXPECT_LE(plan->blocks, 16u);
            EXPECT_LE(most_scratch(*plan), 4u << 20);
            EXPECT_EQ(plan->partition.slot_bytes % 64, 0u);
            EXPECT_GT(plan->seconds, 0);
            EXPECT_LE(static_cast<double>(bytes) / plan->seconds, planner.bound(request) * 1.001)
                << to_string(collective) << " " << plan->strategy;
        }
    }
}

TEST(Planner, NamedStrategiesGetTheBlocksThatAutomaticGivesThem) {
    for (const std::string& preset : preset_names()) {
        const Topology topology = load_topology(preset);
        const bool large = topology.gpu_count() > 16;
        const Planner planner(topology, {});
        for (const Collective collective : five_collectives) {
            // shares_test does the same with 256 MiB, whose plans it has anyway.
            for (const std::uint64_t bytes : {std::uint64_t{1} << 10, std::uint64_t{1} << 20}) {
                if (large && (bytes > 1 << 10 || collective != Collective::all_reduce)) continue;
                Request request{.collective = collective, .count = bytes};
                const auto chosen = planner.plan(request);
                request.strategy = chosen->strategy;
                const auto named = planner.plan(request);
                EXPECT_EQ(named->partition, chosen->partition)
                    << preset << " " << to_string(collective) << " " << bytes;
                EXPECT_EQ(named->schedule, chosen->schedule);
            }
        }
    }
}

TEST(Planner, LargeMessagesGetManyBlocksByEveryStrategyAndCollective) {
    const Planner planner(load_topology("hgx_h100"), {});
    for (const Collective collective : five_collectives) {
        for (const Strategy& strategy :
             {Strategy::ring(), Strategy::direct(2), Strategy::tree(2), Strategy::forest()}) {
            const auto plan =
                planner.plan({.collective = collective, .count = 1 << 30, .strategy = strategy});
            EXPECT_GE(plan->blocks, 8u) << strategy << " " << to_string(collective);
        }
    }
}

TEST(Planner, WhatTheCallerFixesStays) {
    const Planner planner(load_topology("hgx_h100"), {});
    const auto plan = planner.plan({.count = 1 << 24,
                                    .strategy = Strategy::ring(),
                                    .tuning = {.replicas = 3, .depth = 8, .slot_bytes = 4096}});
    EXPECT_EQ(plan->partition.replicas, 3u);
    EXPECT_EQ(plan->partition.slot_bytes, 4096u);
    for (const Channel& channel : plan->schedule.channels) EXPECT_EQ(channel.depth, 8u);
    const auto many =
        planner.plan({.count = 1 << 24, .strategy = Strategy::tree(2), .tuning = {.replicas = 64}});
    EXPECT_EQ(many->partition.replicas, 64 / most_lanes(many->schedule)) << "as many as fit";
}

TEST(Planner, CustomSchedulesGetTheirPartitionByTheSameSearch) {
    const Planner planner(load_topology("hgx_h100"), {});
    const auto plan = planner.plan({.count = 1 << 28, .strategy = Strategy::ring()});
    const Plan custom = planner.plan_custom(plan->schedule, 1 << 28, {});
    EXPECT_EQ(custom.partition, plan->partition);
    EXPECT_EQ(custom.seconds, plan->seconds);
}

TEST(Planner, ScratchThatIsTooSmallIsSaidOrAvoided) {
    const Planner planner(load_topology("hgx_h100"), {.scratch_bytes = 0});
    EXPECT_EQ(planner.plan({.count = 1 << 26})->schedule.channels.size(), 0u);
    try {
        planner.plan({.count = 1 << 26, .strategy = Strategy::tree(2)});
        FAIL();
    } catch (const InvalidArgument& error) {
        EXPECT_NE(std::string(error.what()).find("scratch"), std::string::npos) << error.what();
    }
}

TEST(Planner, TellsWhyARingIsBadWhereOneHopIsNarrow) {
    const Planner planner(load_topology("dgx1_v100"), {.gpus = {0, 1, 2, 3, 4}});
    const Plan plan = planner.explain({.count = 64 << 20});
    EXPECT_EQ(plan.strategy, Strategy::forest());
    EXPECT_NE(plan.reason.find("A ring (best order 0-"), std::string::npos) << plan.reason;
    EXPECT_NE(plan.reason.find("6 GB/s"), std::string::npos) << plan.reason;
    EXPECT_NE(plan.reason.find("runner-up"), std::string::npos) << plan.reason;
}

TEST(Planner, ReasonsAreTrueForEachCollective) {
    const Planner planner(load_topology("hgx_h100"), {});
    for (const Collective collective : five_collectives) {
        const Plan plan = planner.explain({.collective = collective, .count = 1 << 28});
        EXPECT_NE(
            plan.reason.find("of what the links allow for " + std::string(to_string(collective))),
            std::string::npos)
            << plan.reason;
        // On one switch no hop is narrow, so nothing may say so.
        EXPECT_EQ(plan.reason.find("narrowest"), std::string::npos) << plan.reason;
        if (plan.reason.find("hops one after the other") == std::string::npos) continue;
        const std::string hops = collective == Collective::all_reduce ? "14 hops" : "7 hops";
        EXPECT_NE(plan.reason.find(hops), std::string::npos) << plan.reason;
    }
}

TEST(Planner, RingsFollowTheWidestHops) {
    const Planner planner(load_topology("dgx1_v100"), {});
    const auto& order = planner.machine().ring_order();
    for (std::size_t i = 0; i < order.size(); ++i) {
        EXPECT_GE(planner.machine().routing()->bandwidth(order[i], order[(i + 1) % order.size()]),
                  20e9);
    }
    // Two nodes: the ring crosses between them twice and no more.
    const Planner both(load_topology("dgx_a100_x2"), {});
    int crossings = 0;
    for (std::size_t i = 0; i < 16; ++i) {
        const auto next = both.machine().ring_order()[(i + 1) % 16];
        crossings += (both.machine().ring_order()[i] < 8) != (next < 8) ? 1 : 0;
    }
    EXPECT_EQ(crossings, 2);
}

TEST(Planner, NothingCanDoWhatLinksDoNotJoin) {
    const Planner planner(load_topology("dgx1_v100"), {.gpus = {0, 5}, .fabric_only = true});
    EXPECT_THROW(planner.plan({.count = 1 << 20}), InvalidArgument);
    EXPECT_EQ(planner.bound({.count = 1 << 20}), 0);
}

TEST(Planner, HugeMessagesDoNotOverflow) {
    const Planner planner(load_topology("hgx_h100"), {});
    const std::uint64_t huge = std::uint64_t{1} << 62;
    const Plan plan = planner.explain({.count = huge, .element_bytes = 4});
    EXPECT_GT(plan.seconds, 1e6);
    EXPECT_GT(planner.plan({.count = huge, .element_bytes = 1})->seconds, 1e6);
}

TEST(Planner, TooManyRanksAreRefusedAtOnce) {
    const Planner planner(make_host_topology(129), {});
    const auto start = std::chrono::steady_clock::now();
    EXPECT_THROW(planner.plan({.count = 1 << 30}), Unsupported);
    EXPECT_THROW(planner.explain({.count = 1 << 30}), Unsupported);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

/// Every switch becomes so many, each with its part of the links.
Topology in_planes(const Topology& topology, int planes) {
    std::vector<Node> nodes = topology.nodes();
    std::vector<Link> links;
    const auto is_switch = [&](int node) {
        return topology.nodes()[static_cast<std::size_t>(node)].type == NodeType::network_switch;
    };
    std::map<std::pair<int, int>, int> copies;
    for (int node = 0; node < static_cast<int>(topology.nodes().size()); ++node) {
        for (int plane = 1; plane < planes && is_switch(node); ++plane) {
            copies[{node, plane}] = static_cast<int>(nodes.size());
            nodes.push_back(topology.nodes()[static_cast<std::size_t>(node)]);
            nodes.back().id += "plane" + std::to_string(plane);
        }
    }
    for (const Link& link : topology.links()) {
        for (int plane = 0; plane < planes; ++plane) {
            Link& part = links.emplace_back(link);
            if (plane > 0 && is_switch(link.source)) part.source = copies[{link.source, plane}];
            if (plane > 0 && is_switch(link.target)) part.target = copies[{link.target, plane}];
            part.nominal /= planes;
            part.nccl /= planes;
        }
    }
    return Topology(topology.name(), std::move(nodes), std::move(links));
}

TEST(Planner, PlanesOfSwitchesAreAsGoodAsOneSwitch) {
    const Topology one = load_topology("gb200_nvl72_1sw");
    const Planner whole(one, {});
    const Planner planes(in_planes(one, 18), {});
    for (const Strategy& strategy : {Strategy::ring(), Strategy::tree(2), Strategy::direct(2)}) {
        const Request request{.count = 1 << 20, .strategy = strategy};
        EXPECT_NEAR(planes.plan(request)->seconds, whole.plan(request)->seconds,
                    1e-6 * whole.plan(request)->seconds)
            << strategy;
    }
    EXPECT_NEAR(planes.bound({.count = 1}), whole.bound({.count = 1}), 1e3);
}

TEST(Planner, AMillionPacksOfTenElementsAreTen) {
    const Planner planner(load_topology("hgx_h100"), {});
    const auto plan = planner.plan(
        {.count = 10, .element_bytes = 4, .strategy = Strategy::hierarchical_copy(1'048'576)});
    EXPECT_EQ(plan->schedule.unit_shares.size(), 10u);
    EXPECT_THROW(planner.plan({.count = 1 << 20,
                               .element_bytes = 4,
                               .strategy = Strategy::hierarchical_copy(1 << 20)}),
                 Error);
}

TEST(Planner, MemoryThatCannotBeReachedIsNotTouched) {
    const Planner planner(load_topology("pcie4_nop2p"), {});
    for (const Strategy& strategy : sample_strategies()) {
        for (const Collective collective : five_collectives) {
            std::shared_ptr<const Plan> plan;
            try {
                plan = planner.plan(
                    {.collective = collective, .count = 1 << 20, .strategy = strategy});
            } catch (const Error&) {
                continue;
            }
            for (const Lane& lane : plan->schedule.lanes) {
                for (const Step& step : lane.steps) {
                    for (const auto* operands : {&step.sources, &step.destinations}) {
                        for (const Operand& operand : *operands) {
                            EXPECT_TRUE(operand.kind == Operand::Kind::channel ||
                                        planner.machine().reaches(lane.rank, operand.index))
                                << strategy << " " << to_string(collective);
                        }
                    }
                }
            }
        }
    }
}

}  // namespace
}  // namespace rondo::test
