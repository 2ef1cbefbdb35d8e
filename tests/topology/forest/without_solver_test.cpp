// A build without a solver for linear programs: everything but free root shares behind switches
// stays exact.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/forest/support.hpp"
#include "topology/forest/master.hpp"

namespace rondo::testing {
namespace {

TEST(WithoutSolver, IsWhatThisProgramIs) {
    EXPECT_FALSE(forest::Master::available());
}

TEST(WithoutSolver, PresetsReachTheirBounds) {
    for (const std::string& preset : preset_names()) {
        for (const auto collective : {ForestCollective::all_reduce, ForestCollective::all_gather}) {
            SCOPED_TRACE(preset);
            const Forest forest = checked_forest(load_topology(preset), {.collective = collective});
            EXPECT_TRUE(forest.bound.exact()) << forest.bound.note;
        }
    }
}

TEST(WithoutSolver, UnevenAllocationsWithoutSwitchesAreExact) {
    const Forest forest = checked_forest(load_topology("dgx1_v100"),
                                         {.gpus = {0, 1, 2, 3, 4, 5}, .links = LinkFilter::nvlink});
    EXPECT_EQ(forest.throughput, Rational(50 * giga));
    for (unsigned seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Dice dice(seed);
        EXPECT_TRUE(checked_forest(random_machine(dice, dice.between(2, 8), 0), {}).bound.exact());
    }
}

TEST(WithoutSolver, UnevenAllocationsBehindSwitchesGetEqualSharesAndAReason) {
    const Topology topology = load_topology("dgx_a100_x2");
    const ForestRequest request{.gpus = {0, 1, 2, 8, 9}};
    const Forest forest = checked_forest(topology, request);
    EXPECT_EQ(forest.throughput, Rational(40 * giga));
    EXPECT_FALSE(forest.bound.exact());
    EXPECT_GE(forest.bound.proven, Rational(48 * giga));
    EXPECT_THAT(explain_bound(topology, request, forest.bound),
                ::testing::HasSubstr("without COIN-OR CLP only equal root shares"));
}

TEST(WithoutSolver, RandomMachinesWithSwitches) {
    for (unsigned seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Dice dice(seed);
        const Topology topology = random_machine(dice, dice.between(2, 8), dice.between(1, 4));
        const Forest forest = checked_forest(topology, {});
        EXPECT_EQ(forest.bound.exact(), forest.bound.note.empty());
        EXPECT_GE(forest.throughput, forest.bound.equal_shares);
        if (!forest.bound.exact()) {
            EXPECT_EQ(forest.throughput, forest.bound.equal_shares);
        }
    }
}

}  // namespace
}  // namespace rondo::testing
