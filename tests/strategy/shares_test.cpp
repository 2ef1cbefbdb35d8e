// How much of the exact bound every collective reaches in simulation on every preset, with all
// latencies: no less than was promised, never more than all of it; and who names the strategy that
// was chosen gets the same. bench/simulate_bench prints the whole table.
#include <gtest/gtest.h>

#include "strategy/planner.hpp"

namespace rondo::test {
namespace {

constexpr std::uint64_t mebibyte = 1 << 20;

struct Least {
    double at_256 = 0;
    double at_1024 = 0;
};

constexpr Least one_node{0.90, 0.95};
constexpr Least several_nodes{0.80, 0.80};
constexpr Least exchange{0.85, 0.85};

Least least_of(const std::string& preset, Collective collective) {
    if (collective == Collective::all_to_all) return exchange;
    return preset.find("_x") != std::string::npos ? several_nodes : one_node;
}

class Shares : public testing::TestWithParam<std::string> {};

TEST_P(Shares, OfTheBoundAreReachedByEveryCollective) {
    const Planner planner(load_topology(GetParam()), {.scratch_bytes = 32 * mebibyte});
    for (const Collective collective :
         {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather,
          Collective::broadcast, Collective::reduce, Collective::all_to_all}) {
        const Least least = least_of(GetParam(), collective);
        const bool paired = collective == Collective::all_to_all;
        for (const auto& [bytes, share] :
             {std::pair{256 * mebibyte, least.at_256}, std::pair{1024 * mebibyte, least.at_1024}}) {
            // A gigabyte from each of many ranks takes seconds to simulate.
            if (paired && planner.ranks() > 16 && bytes > 256 * mebibyte) continue;
            // What nccl-tests counts of all_to_all is what a rank sends.
            Request request{.collective = collective,
                            .count = paired ? bytes * planner.ranks() : bytes};
            if (collective == Collective::reduce) request.destinations = {0};
            const auto plan = planner.plan(request);
            if (planner.ranks() <= 16) {
                EXPECT_EQ(verify(plan->schedule).problem, "") << plan->strategy;
            }
            if (planner.ranks() <= 16 && !paired && bytes == 256 * mebibyte) {
                Request named = request;
                named.strategy = plan->strategy;
                EXPECT_EQ(planner.plan(named)->partition, plan->partition) << plan->strategy;
                EXPECT_EQ(planner.plan(named)->schedule, plan->schedule) << plan->strategy;
            }
            const double seconds = planner.simulate(*plan, request).seconds;
            const double reached =
                static_cast<double>(request.bytes()) / seconds / planner.bound(request);
            EXPECT_GE(reached, share)
                << to_string(collective) << " of " << bytes << " by " << plan->strategy;
            EXPECT_LE(reached, 1.0) << to_string(collective) << " of " << bytes;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Presets, Shares, testing::ValuesIn(preset_names()),
                         [](const auto& parameter) { return parameter.param; });

}  // namespace
}  // namespace rondo::test
