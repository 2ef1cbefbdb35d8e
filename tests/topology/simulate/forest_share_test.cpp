// How much of the exact bound forests reach in simulation, with all latencies; never more than it.
#include <gtest/gtest.h>

#include <bit>

#include "strategy/planner.hpp"
#include "tests/topology/simulate/support.hpp"

namespace rondo::test {
namespace {

constexpr std::uint64_t mebibyte = 1 << 20;

/// Share of the bound that the best way to cut a forest reaches, to the last chunk.
double share(const Planner& planner, std::uint64_t bytes) {
    const Task task{.bytes = bytes};
    const Candidate chosen = planner.choose(task, Strategy::forest()).chosen();
    const Schedule schedule = planner.schedule(task, chosen);
    if (planner.ranks() <= 16) {
        EXPECT_EQ(verify(schedule).problem, "");
    }
    const Simulation run = simulate(
        schedule, planner.routing_for(task, chosen.strategy),
        {.bytes = bytes, .slot_bytes = chosen.cutting.slot_bytes, .most_chunks = UINT32_MAX});
    return run.algbw / planner.bound(task);
}

void expect_share(const std::string& preset, double least_256, double least_1024) {
    const Topology topology = load_topology(preset);
    const Planner planner(topology, {});
    const double quarter = share(planner, 256 * mebibyte);
    const double whole = share(planner, 1024 * mebibyte);
    EXPECT_GE(quarter, least_256) << preset;
    EXPECT_GE(whole, least_1024) << preset;
    EXPECT_LE(std::max(quarter, whole), 1.0) << preset;
}

TEST(ForestShare, OfMachinesWithOneSwitchIsNearlyAll) {
    for (const char* preset :
         {"dgx2_v100", "dgx_a100", "hgx_h100", "pcie4_nop2p", "gb200_nvl72_1sw"}) {
        expect_share(preset, 0.95, 0.98);
    }
}

TEST(ForestShare, OfPciBoxesAndDgx1) {
    expect_share("pcie8_2sw", 0.90, 0.95);
    expect_share("pcie8_4sw", 0.90, 0.95);
    expect_share("dgx1_p100", 0.90, 0.95);
    expect_share("dgx1_v100", 0.90, 0.95);
}

TEST(ForestShare, OfGpusWithoutASwitchAndOfSeveralNodes) {
    expect_share("mi250_16gcd", 0.90, 0.95);
    expect_share("dgx_a100_x2", 0.80, 0.85);
    expect_share("dgx_a100_x4", 0.85, 0.92);
}

TEST(ForestShare, OfAllocationsOfADgx1) {
    const Topology topology = load_topology("dgx1_v100");
    int allocations = 0;
    for (unsigned mask = 0; mask < 256; mask += 1) {
        if (std::popcount(mask) < 3) continue;
        RoutingOptions options{.fabric_only = true};
        for (int gpu = 0; gpu < 8; ++gpu) {
            if (mask >> gpu & 1) options.gpus.push_back(gpu);
        }
        // NVLink, where it joins them.
        options.fabric_only = Planner(topology, options).bound({.bytes = 1}) != 0;
        const Planner planner(topology, options);
        const double quarter = share(planner, 256 * mebibyte);
        const double whole = share(planner, 1024 * mebibyte);
        EXPECT_GE(quarter, 0.90) << "GPUs " << mask;
        EXPECT_GE(whole, 0.95) << "GPUs " << mask;
        EXPECT_LE(std::max(quarter, whole), 1.0) << "GPUs " << mask;
        ++allocations;
    }
    EXPECT_EQ(allocations, 219);
}

}  // namespace
}  // namespace rondo::test
