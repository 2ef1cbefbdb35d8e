// Every allocation of three to eight GPUs of a DGX-1V: bounds, proofs, trees.
#include <gtest/gtest.h>

#include "tests/topology/forest/support.hpp"
#include "topology/forest/network.hpp"

namespace rondo::testing {
namespace {

std::vector<std::vector<int>> allocations(int gpus, int smallest) {
    std::vector<std::vector<int>> result;
    for (unsigned set = 0; set < 1u << gpus; ++set) {
        std::vector<int> allocation;
        for (int gpu = 0; gpu < gpus; ++gpu) {
            if ((set >> gpu & 1) != 0) allocation.push_back(gpu);
        }
        if (static_cast<int>(allocation.size()) >= smallest) result.push_back(allocation);
    }
    return result;
}

std::string text(const std::vector<int>& gpus) {
    return "GPUs " + ::testing::PrintToString(gpus);
}

std::optional<Bound> nvlink_bound(const Topology& topology, const std::vector<int>& gpus) {
    try {
        return forest_bound(topology, {.gpus = gpus, .links = LinkFilter::nvlink});
    } catch (const ForestError&) {
        return std::nullopt;
    }
}

class Dgx1Subsets : public ::testing::Test {
protected:
    Topology dgx1_ = load_topology("dgx1_v100");
};

TEST_F(Dgx1Subsets, NvlinkJoins181Of219) {
    const auto all = allocations(8, 3);
    EXPECT_EQ(all.size(), 219u);
    EXPECT_EQ(std::ranges::count_if(
                  all, [&](const auto& gpus) { return nvlink_bound(dgx1_, gpus).has_value(); }),
              181);
}

TEST_F(Dgx1Subsets, BoundEqualsEveryPartitionLookedAt) {
    for (const auto& gpus : allocations(8, 3)) {
        SCOPED_TRACE(text(gpus));
        const std::optional<Bound> bound = nvlink_bound(dgx1_, gpus);
        if (!bound) continue;
        const ForestRequest request{.gpus = gpus, .links = LinkFilter::nvlink};
        forest::Network network = forest::make_network(dgx1_, request).network;
        network.vertices = network.terminals;  // what remains has no NVLink
        EXPECT_EQ(bound->throughput, strength_by_brute_force(network));
        EXPECT_TRUE(bound->exact());
    }
}

TEST_F(Dgx1Subsets, KnownValues) {
    const auto value = [&](const std::vector<int>& gpus) {
        return nvlink_bound(dgx1_, gpus)->throughput;
    };
    EXPECT_EQ(value({0, 1, 2}), Rational(40 * giga));
    EXPECT_EQ(value({0, 1, 4}), Rational(20 * giga));
    EXPECT_EQ(value({0, 1, 2, 3, 4}), Rational(40 * giga));
    EXPECT_EQ(value({0, 1, 2, 3, 4, 5}), Rational(50 * giga));
}

TEST_F(Dgx1Subsets, EqualSharesReach73PercentOnAverage) {
    double sum = 0;
    double worst = 1;
    int count = 0;
    for (const auto& gpus : allocations(8, 3)) {
        const std::optional<Bound> bound = nvlink_bound(dgx1_, gpus);
        if (!bound) continue;
        const double part = Rational(bound->equal_shares / bound->throughput).convert_to<double>();
        sum += part;
        worst = std::min(worst, part);
        ++count;
    }
    EXPECT_NEAR(sum / count, 0.728, 0.0005);
    EXPECT_NEAR(worst, 0.600, 0.0005);
}

TEST_F(Dgx1Subsets, ShallowForestsReachTheBound) {
    for (const LinkFilter links : {LinkFilter::nvlink, LinkFilter::all}) {
        for (const auto& gpus : allocations(8, 2)) {
            SCOPED_TRACE(text(gpus));
            if (links == LinkFilter::nvlink && !nvlink_bound(dgx1_, gpus)) continue;
            const Forest forest = checked_forest(dgx1_, {.gpus = gpus, .links = links});
            EXPECT_TRUE(forest.bound.exact()) << forest.bound.note;
            EXPECT_LE(forest.depth, 3);
            EXPECT_LE(forest.trees.size(), 32u);
        }
    }
}

}  // namespace
}  // namespace rondo::testing
