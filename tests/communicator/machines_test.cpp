// Every machine that is known: its virtual GPUs are wired alike, and everything that can be asked
// of it gives the exact result.
#include <bit>
#include <cstdlib>

#include <gtest/gtest.h>

#include "schedule/verify.hpp"
#include "strategy/planner.hpp"
#include "tests/communicator/collective_case.hpp"
#include "tests/schedule/problems.hpp"
#include "topology/graph/topology.hpp"
#include "vgpu/control.hpp"

namespace rondo::test {
namespace {

Topology start_machine(const std::string& preset) {
    vgpu::Options options = vgpu::Options::from_environment();
    options.topology = preset;
    options.memory_per_device = std::size_t{64} << 20;
    vgpu::reset(options);
    return load_topology(preset);
}

std::vector<int> all_gpus(const Topology& topology) {
    std::vector<int> gpus;
    for (int gpu = 0; gpu < topology.gpu_count(); ++gpu) gpus.push_back(gpu);
    return gpus;
}

CaseRunner runner_on(const std::vector<int>& gpus, const Tuning& tuning = {}) {
    return CaseRunner(Communicator::create({.devices = gpus,
                                            .timeout = std::chrono::seconds(60),
                                            .tuning = tuning,
                                            .scratch_bytes = 4 << 20}));
}

/// Small slots, so that a small message goes through a schedule for large ones in several chunks.
constexpr Tuning small_slots{.slot_bytes = 256};

/// What is chosen for large messages, proved and run.
void expect_large_plan_exact(const Planner& planner, CaseRunner& runner, Collective collective,
                             std::uint64_t bytes) {
    Request request{.collective = collective, .count = bytes};
    if (collective == Collective::reduce) request.destinations = {0};
    const auto plan = planner.plan(request);
    SCOPED_TRACE(std::string(to_string(collective)) + " by " + plan->schedule.name);
    EXPECT_EQ(verify(plan->schedule).problem, "");
    const std::uint64_t parts = has_owners(collective) ? planner.ranks() : 1;
    const std::uint64_t count = plan->schedule.unit_shares.size() / parts * 200 + 1;
    EXPECT_EQ(runner.run({.collective = collective,
                          .count = count,
                          .schedule = runner.communicator().add_schedule(plan->schedule)}),
              "");
}

class Machines : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(, Machines, testing::ValuesIn(preset_names()),
                         [](const auto& preset) { return preset.param; });

/// The default and every strategy that can be named, by rank handles and by the communicator.
TEST_P(Machines, EveryStrategyAndCollective) {
    const Topology topology = start_machine(GetParam());
    CaseRunner runner = runner_on(all_gpus(topology));
    const auto ranks = static_cast<std::uint32_t>(topology.gpu_count());
    std::vector<Strategy> strategies{Strategy()};
    for (const Strategy& strategy : sample_strategies()) strategies.push_back(strategy);
    std::uint64_t turn = 0;
    for (const Strategy& strategy : strategies) {
        for (const Collective collective : all_collectives) {
            if (!strategy.is_automatic() && !applies(strategy, collective)) continue;
            for (const bool together : {false, true}) {
                for (const std::uint64_t count : {ranks - 1, 523u}) {
                    EXPECT_EQ(runner.run({.collective = collective,
                                          .count = count,
                                          .root = static_cast<std::uint32_t>(++turn % ranks),
                                          .strategy = strategy,
                                          .in_place = turn % 3 == 0,
                                          .together = together,
                                          .uneven = has_owners(collective) &&
                                                    strategy.is_automatic() && turn % 2 == 0}),
                              "");
                }
            }
        }
    }
}

TEST_P(Machines, PlansForLargeMessages) {
    const Topology topology = start_machine(GetParam());
    const Planner planner(topology, {.scratch_bytes = 32 << 20});
    CaseRunner runner = runner_on(all_gpus(topology), small_slots);
    for (const Collective collective : all_collectives) {
        for (const std::uint64_t bytes : {256 << 20, 1 << 30}) {
            expect_large_plan_exact(planner, runner, collective, bytes);
        }
    }
}

/// Each allocation with one collective in turn; with all of them when RONDO_ALL_ALLOCATIONS is set.
TEST(Allocations, OfADgx1) {
    const Topology topology = start_machine("dgx1_v100");
    const bool all = std::getenv("RONDO_ALL_ALLOCATIONS") != nullptr;
    std::size_t allocations = 0;
    for (unsigned mask = 0; mask < 256; ++mask) {
        if (std::popcount(mask) < 3) continue;
        SCOPED_TRACE("GPUs " + std::to_string(mask));
        std::vector<int> gpus;
        for (int gpu = 0; gpu < 8; ++gpu) {
            if ((mask >> gpu & 1) != 0) gpus.push_back(gpu);
        }
        const Planner planner(topology, {.gpus = gpus, .scratch_bytes = 32 << 20});
        CaseRunner runner = runner_on(gpus, small_slots);
        for (std::size_t i = 0; i < all_collectives.size(); ++i) {
            if (!all && i != allocations % all_collectives.size()) continue;
            expect_large_plan_exact(planner, runner, all_collectives[i], 256 << 20);
        }
        ++allocations;
    }
    EXPECT_EQ(allocations, 219u);
}

}  // namespace
}  // namespace rondo::test
