// Random machines: every forest passes the verifier and reaches a bound that is proven. Seeds are
// printed on failure.
#include <gtest/gtest.h>

#include "tests/topology/forest/support.hpp"
#include "topology/forest/reduction.hpp"

namespace rondo::testing {
namespace {

TEST(RandomForest, WithoutSwitchesTheBoundIsTheStrength) {
    for (unsigned seed = 1; seed <= 150; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Dice dice(seed);
        const Topology topology = random_machine(dice, dice.between(2, 8), 0);
        const Forest forest = checked_forest(topology, {});
        EXPECT_TRUE(forest.bound.exact()) << forest.bound.note;
        EXPECT_EQ(forest.throughput,
                  strength_by_brute_force(forest::make_network(topology, {}).network));
    }
}

TEST(RandomForest, WithSwitchesTheBoundIsProven) {
    for (unsigned seed = 1; seed <= 150; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Dice dice(seed);
        const Topology topology = random_machine(dice, dice.between(2, 8), dice.between(1, 5));
        const Forest forest = checked_forest(topology, {});
        EXPECT_GE(forest.throughput, forest.bound.equal_shares);
        EXPECT_GE(forest.throughput, forest.bound.proven * (1 - Rational(1, giga)));
        EXPECT_EQ(forest.bound.exact(), forest.bound.note.empty());
    }
}

TEST(RandomForest, GivenSharesReachTheTightestCut) {
    for (unsigned seed = 1; seed <= 100; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Dice dice(seed);
        const int gpus = dice.between(2, 7);
        const Topology topology = random_machine(dice, gpus, dice.between(0, 4));
        ForestRequest request{.collective = ForestCollective::all_gather,
                              .shares = RootShares::proportional};
        std::vector<forest::Units> shares;
        for (int gpu = 0; gpu < gpus; ++gpu) {
            request.proportions.push_back(gpu == 0 ? 1 : dice.between(0, 4));
            shares.push_back(request.proportions.back());
        }
        const Forest forest = checked_forest(topology, request);
        Rational whole = 0;
        for (const auto share : request.proportions) whole += share;
        EXPECT_EQ(
            forest.throughput,
            whole * scale_by_brute_force(forest::make_network(topology, request).network, shares));
    }
}

TEST(RandomForest, EveryCollectiveAllocationAndHelper) {
    for (unsigned seed = 1; seed <= 150; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Dice dice(seed);
        const int gpus = dice.between(3, 9);
        const Topology topology = random_machine(dice, gpus, dice.between(0, 3));
        ForestRequest request{.collective = static_cast<ForestCollective>(dice.between(0, 4)),
                              .helpers = true};
        for (int gpu = 0; gpu < gpus; ++gpu) {
            if (gpu < 2 || dice.chance(60)) request.gpus.push_back(gpu);
        }
        request.root = request.gpus[dice.between(0, static_cast<int>(request.gpus.size()) - 1)];
        const Forest forest = checked_forest(topology, request);
        EXPECT_GE(forest.throughput, forest.bound.proven * (1 - Rational(1, giga)));
    }
}

/// Sixteen GPUs behind switches and NICs, allocated unevenly.
TEST(RandomForest, AllocationsOfTwoNodes) {
    const Topology topology = load_topology("dgx_a100_x2");
    for (unsigned seed = 1; seed <= 25; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Dice dice(seed);
        ForestRequest request;
        for (int gpu = 0; gpu < 16; ++gpu) {
            if (gpu == 0 || dice.chance(50)) request.gpus.push_back(gpu);
        }
        if (request.gpus.size() < 2) continue;
        const Forest forest = checked_forest(topology, request);
        EXPECT_TRUE(forest.bound.exact()) << forest.bound.note;
        EXPECT_LE(forest.depth, 3);
    }
}

}  // namespace
}  // namespace rondo::testing
