// What a request may ask for, the errors that bad ones get, and the machines that are unlike the
// others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/forest/support.hpp"

namespace rondo::testing {
namespace {

using ::testing::HasSubstr;

const Topology& triangle() {
    static const Topology topology =
        machine(3, 0, {{0, 1, 20 * giga}, {1, 2, 20 * giga}, {0, 2, 20 * giga}});
    return topology;
}

TEST(ForestRequest, OneGpuNeedsNoLinks) {
    const ForestRequest request{.gpus = {1}};
    const Forest forest = checked_forest(triangle(), request);
    EXPECT_TRUE(forest.bound.unlimited);
    ASSERT_EQ(forest.trees.size(), 1u);
    EXPECT_EQ(forest.trees[0].root, 1);
    EXPECT_EQ(forest.trees[0].weight, 1);
    EXPECT_TRUE(forest.trees[0].edges.empty());
    EXPECT_EQ(explain_bound(triangle(), request, forest.bound), "One GPU alone uses no links.");
}

TEST(ForestRequest, TwoGpusUseTheirLinkBothWays) {
    const Forest forest = checked_forest(triangle(), {.gpus = {2, 0}});
    EXPECT_EQ(forest.throughput, Rational(20 * giga));
    EXPECT_EQ(forest.depth, 1);
}

TEST(ForestRequest, PathOfThreeNeedsNoRootAtTheEnds) {
    const Topology path = machine(3, 0, {{0, 1, 10 * giga}, {1, 2, 10 * giga}});
    const Bound bound = forest_bound(path, {});
    EXPECT_EQ(bound.throughput, Rational(10 * giga));
    EXPECT_EQ(bound.equal_shares, Rational(15 * giga) / 2);
}

TEST(ForestRequest, HelpersRelayButDoNotTakePart) {
    const ForestRequest alone{.gpus = {0, 1}};
    const ForestRequest helped{.gpus = {0, 1}, .helpers = true};
    EXPECT_EQ(checked_forest(triangle(), alone).throughput, Rational(20 * giga));
    const Forest forest = checked_forest(triangle(), helped);
    EXPECT_EQ(forest.throughput, Rational(40 * giga));
    EXPECT_THAT(*verify_forest(triangle(), alone, forest), HasSubstr("passes through g2"));
}

TEST(ForestRequest, HelpersOnDgx1) {
    const Topology dgx1 = load_topology("dgx1_v100");
    ForestRequest request{.gpus = {0, 1}, .links = LinkFilter::nvlink};
    EXPECT_EQ(forest_bound(dgx1, request).throughput, Rational(20 * giga));
    request.helpers = true;
    EXPECT_EQ(checked_forest(dgx1, request).throughput, Rational(120 * giga));
}

TEST(ForestRequest, DisconnectedGpusAreNamedByParts) {
    const Topology dgx1 = load_topology("dgx1_v100");
    EXPECT_EQ(error_of([&] {
                  forest_bound(dgx1, {.gpus = {1, 4, 6}, .links = LinkFilter::nvlink});
              }),
              "the GPUs of the allocation are not joined by NVLink, XGMI or shared memory: {1}, "
              "{4, 6}");
    const Topology apart = machine(2, 1, {{0, 2, giga}});
    EXPECT_EQ(error_of([&] { build_forest(apart, {}); }),
              "the GPUs of the allocation are not joined by any links: {0}, {1}");
}

TEST(ForestRequest, BadValuesAreNamed) {
    const auto error = [&](const ForestRequest& request) {
        return error_of([&] { forest_bound(triangle(), request); });
    };
    EXPECT_EQ(error({.gpus = {0, 3}}), "there is no GPU 3 in test machine, which has 3");
    EXPECT_EQ(error({.gpus = {0, -1}}), "there is no GPU -1 in test machine, which has 3");
    EXPECT_EQ(error({.gpus = {2, 2}}), "GPU 2 is in the allocation twice");
    EXPECT_EQ(error({.collective = ForestCollective::broadcast, .gpus = {0, 1}, .root = 2}),
              "the root, GPU 2, is not in the allocation");
    EXPECT_EQ(error({.collective = ForestCollective::reduce, .shares = RootShares::equal}),
              "broadcast and reduce have one root; root shares can't be chosen");
    EXPECT_EQ(error({.collective = ForestCollective::all_gather, .shares = RootShares::free}),
              "only all_reduce can have free root shares");
    EXPECT_EQ(error({.shares = RootShares::proportional, .proportions = {1, 2}}),
              "there are 2 proportions for 3 GPUs");
    EXPECT_EQ(error({.shares = RootShares::proportional, .proportions = {1, -2, 0}}),
              "the proportion of GPU 1 is -2; it must not be negative");
    EXPECT_EQ(error({.shares = RootShares::proportional, .proportions = {0, 0, 0}}),
              "all proportions are 0");
    EXPECT_EQ(error({.proportions = {1, 1, 1}}),
              "proportions are given, but the root shares are not proportional");
}

TEST(ForestRequest, UnevenShardsFollowTheProportions) {
    const ForestRequest request{.collective = ForestCollective::all_gather,
                                .shares = RootShares::proportional,
                                .proportions = {3, 0, 1}};
    const Forest forest = checked_forest(triangle(), request);
    Rational at_first = 0;
    for (const ForestTree& tree : forest.trees) {
        EXPECT_NE(tree.root, 1);
        if (tree.root == 0) at_first += tree.weight;
    }
    EXPECT_EQ(at_first / forest.throughput, Rational(3, 4));
}

TEST(ForestRequest, BroadcastReachesEdmondsBound) {
    const Forest forest =
        checked_forest(triangle(), {.collective = ForestCollective::broadcast, .root = 1});
    EXPECT_EQ(forest.throughput, Rational(40 * giga));
    for (const ForestTree& tree : forest.trees) {
        EXPECT_EQ(tree.root, 1);
        for (const ForestEdge& edge : tree.edges) EXPECT_TRUE(edge.up.empty());
    }
}

TEST(ForestRequest, ReduceUsesTheOppositeDirections) {
    const Forest forest =
        checked_forest(triangle(), {.collective = ForestCollective::reduce, .root = 1});
    EXPECT_EQ(forest.throughput, Rational(40 * giga));
    for (const ForestTree& tree : forest.trees) {
        for (const ForestEdge& edge : tree.edges) EXPECT_TRUE(edge.down.empty());
    }
}

TEST(ForestRequest, TheSlowerDirectionCountsForBoth) {
    const Topology topology = machine_of_links(
        3, 0,
        {one_way(0, 1, 30 * giga), one_way(1, 0, 10 * giga), one_way(1, 2, 40 * giga),
         one_way(2, 1, 40 * giga), one_way(0, 2, 50 * giga)});
    const Forest forest = checked_forest(topology, {});
    EXPECT_FALSE(forest.bound.symmetric);
    EXPECT_EQ(forest.throughput, Rational(10 * giga));
    EXPECT_THAT(explain_bound(topology, {}, forest.bound), HasSubstr("slower in one direction"));
    EXPECT_TRUE(checked_forest(triangle(), {}).bound.symmetric);
}

TEST(ForestRequest, ParallelLinksOfSeveralKindsAreUsedTogether) {
    const Topology topology = machine(2, 0, {{0, 1, 20 * giga}, {0, 1, 12 * giga, LinkKind::pci}});
    EXPECT_EQ(checked_forest(topology, {}).throughput, Rational(32 * giga));
    const Forest forest = checked_forest(topology, {.links = LinkFilter::nvlink});
    EXPECT_EQ(forest.throughput, Rational(20 * giga));
}

TEST(ForestRequest, PlanesOfOneSwitchShareTheTraffic) {
    const Topology h100 = load_topology("hgx_h100");
    const Forest forest = checked_forest(h100, {});
    for (const ForestTree& tree : forest.trees) {
        for (const ForestEdge& edge : tree.edges) {
            EXPECT_EQ(edge.down.size(), 4u);
            EXPECT_EQ(edge.up.size(), 4u);
        }
    }
}

TEST(ForestRequest, LargestBandwidthsStayExact) {
    constexpr std::int64_t largest = 100'000'000'000'000;
    std::vector<Wire> wires;
    for (int gpu = 0; gpu < 7; ++gpu) wires.push_back({gpu, 7, largest - gpu});
    const Forest forest = checked_forest(machine(7, 1, wires), {});
    EXPECT_TRUE(forest.bound.exact());
    EXPECT_EQ(forest.throughput, (Rational(7) * largest - 21) / 12);
}

TEST(ForestRequest, OddBandwidthsDoNotMultiplyTrees) {
    std::vector<Wire> wires;
    for (int a = 0; a < 6; ++a) {
        for (int b = a + 1; b < 6; ++b) {
            wires.push_back({a, b, 25'000'000'000 + 7'919 * a + 104'729 * b});
        }
        wires.push_back({a, 6, 15'754'000'001 + a, LinkKind::pci});
    }
    const Forest forest = checked_forest(machine(6, 1, wires), {});
    EXPECT_TRUE(forest.bound.exact());
    EXPECT_LE(forest.trees.size(), wires.size());
}

/// A link a million million times slower than the others still counts to the last byte.
TEST(ForestRequest, HugeRatiosOfBandwidths) {
    const Topology bridge =
        machine(4, 0, {{0, 1, 1'000'000'000'000}, {1, 2, 1}, {2, 3, 1'000'000'000'000}});
    EXPECT_EQ(checked_forest(bridge, {}).throughput, 1);
    const Topology extra =
        machine(3, 0, {{0, 1, 1'000'000'000'000}, {1, 2, 1'000'000'000'000}, {0, 2, 1}});
    EXPECT_EQ(checked_forest(extra, {}).throughput, Rational(2'000'000'000'001) / 2);
}

TEST(ForestRequest, ExplanationsNameThePartsAndTheLimit) {
    const Topology dgx1 = load_topology("dgx1_v100");
    const ForestRequest request{.gpus = {0, 1, 2, 3, 4}, .links = LinkFilter::nvlink};
    EXPECT_EQ(explain_bound(dgx1, request, forest_bound(dgx1, request)),
              "The 2 parts {gpu0 gpu1 gpu2 gpu3} {gpu4} are joined by links that carry 40 GB/s "
              "each way; every tree needs at least 1 hop between parts, so no all_reduce exceeds "
              "40 GB/s.");
    const ForestRequest gather{.collective = ForestCollective::all_gather,
                               .links = LinkFilter::nvlink};
    EXPECT_EQ(explain_bound(dgx1, gather, forest_bound(dgx1, gather)),
              "{gpu0} can take in and send out 120 GB/s; 7/8 of the data belongs to roots "
              "elsewhere and has to cross, so the throughput is at most 137.14 GB/s.");
}

}  // namespace
}  // namespace rondo::testing
