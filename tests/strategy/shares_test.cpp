// How much of the exact bound every collective reaches in simulation, with all latencies: no less
// than was promised, never more than all of it. bench/simulate_bench prints the whole table.
#include <gtest/gtest.h>

#include "strategy/planner.hpp"

namespace rondo::test {
namespace {

constexpr std::uint64_t mebibyte = 1 << 20;

struct Machine {
    std::string preset;
    double least_256 = 0.90;
    double least_1024 = 0.95;
};

class Shares : public testing::TestWithParam<Machine> {};

TEST_P(Shares, OfTheBoundAreReachedByEveryCollective) {
    const Planner planner(load_topology(GetParam().preset), {});
    for (const Collective collective :
         {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather,
          Collective::broadcast, Collective::reduce}) {
        for (const auto& [bytes, least] : {std::pair{256 * mebibyte, GetParam().least_256},
                                           std::pair{1024 * mebibyte, GetParam().least_1024}}) {
            Request request{.collective = collective, .count = bytes};
            if (collective == Collective::reduce) request.destinations = {0};
            const auto plan = planner.plan(request);
            if (planner.ranks() <= 16) {
                EXPECT_EQ(verify(plan->schedule).problem, "") << plan->strategy;
            }
            const double seconds = planner.simulate(*plan, request).seconds;
            const double share = static_cast<double>(bytes) / seconds / planner.bound(request);
            EXPECT_GE(share, least)
                << to_string(collective) << " of " << bytes << " by " << plan->strategy;
            EXPECT_LE(share, 1.0) << to_string(collective) << " of " << bytes;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(OneNode, Shares,
                         testing::Values(Machine{"host"}, Machine{"hgx_h100"}, Machine{"dgx_a100"},
                                         Machine{"dgx2_v100"}, Machine{"pcie4_nop2p"}),
                         [](const auto& parameter) { return parameter.param.preset; });

}  // namespace
}  // namespace rondo::test
