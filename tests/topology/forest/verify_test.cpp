// The verifier finds every kind of damage and says what is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/forest/support.hpp"

namespace rondo::testing {
namespace {

using ::testing::HasSubstr;

class VerifyForest : public ::testing::Test {
protected:
    std::string violation() const {
        return verify_forest(topology_, request_, forest_).value_or("none");
    }
    ForestEdge& some_edge() { return forest_.trees[0].edges[0]; }
    std::vector<int>& way_through_the_switch() {
        for (ForestEdge& edge : forest_.trees[0].edges) {
            if (edge.down[0].links.size() > 1) return edge.down[0].links;
        }
        throw std::logic_error("no tree passes the switch");
    }

    Topology topology_ = machine(
        4, 1,
        {{0, 4, giga}, {1, 4, giga}, {2, 4, giga}, {3, 4, giga}, {0, 1, giga, LinkKind::pci}});
    ForestRequest request_{.shares = RootShares::equal};
    Forest forest_ = build_forest(topology_, request_);
};

TEST_F(VerifyForest, AcceptsWhatWasBuilt) {
    EXPECT_EQ(violation(), "none");
}

TEST_F(VerifyForest, OverloadedLink) {
    for (ForestTree& tree : forest_.trees) tree.weight *= 2;
    forest_.throughput *= 2;
    EXPECT_THAT(violation(), HasSubstr("of 1000000000 bytes per second"));
}

TEST_F(VerifyForest, WeightsThatDoNotAddUp) {
    forest_.trees[0].weight /= 2;
    EXPECT_THAT(violation(), HasSubstr("the weights add up to"));
    forest_.trees[0].weight = 0;
    EXPECT_EQ(violation(), "tree 0 has the weight 0");
}

TEST_F(VerifyForest, UnevenRoots) {
    ForestTree& tree = forest_.trees[0];
    const Rational half = tree.weight / 2;
    tree.weight = half;
    ForestTree& other = *std::ranges::find_if(
        forest_.trees, [&](const ForestTree& t) { return t.root != tree.root; });
    other.weight += half;
    EXPECT_THAT(violation(), HasSubstr("is the root of"));
}

TEST_F(VerifyForest, TreeThatDoesNotSpan) {
    const int lost = forest_.trees[0].edges.back().child;
    forest_.trees[0].edges.pop_back();
    EXPECT_EQ(violation(), "tree 0 does not reach GPU " + std::to_string(lost));
}

TEST_F(VerifyForest, GpuReachedTwice) {
    forest_.trees[0].edges.push_back(some_edge());
    EXPECT_EQ(violation(), "tree 0 reaches GPU " + std::to_string(some_edge().child) + " twice");
}

TEST_F(VerifyForest, EdgeBeforeItsParent) {
    forest_.trees[0].root = some_edge().child;
    EXPECT_THAT(violation(), HasSubstr("before it gets there"));
}

TEST_F(VerifyForest, GpuOutsideTheAllocation) {
    request_.gpus = {0, 1, 2};
    request_.shares = RootShares::free;
    EXPECT_THAT(violation(), HasSubstr("which is not in the allocation"));
}

TEST_F(VerifyForest, RouteThatLeadsElsewhere) {
    some_edge().down[0].links.pop_back();
    EXPECT_THAT(violation(), HasSubstr("on the way from GPU"));
}

TEST_F(VerifyForest, RouteThatJumps) {
    std::vector<int>& links = way_through_the_switch();
    std::swap(links.front(), links.back());
    EXPECT_THAT(violation(), HasSubstr("does not start at"));
}

TEST_F(VerifyForest, LinkThatDoesNotExist) {
    some_edge().up[0].links[0] = 1000;
    EXPECT_THAT(violation(), HasSubstr("uses link 1000, which does not exist"));
}

TEST_F(VerifyForest, ForbiddenLink) {
    request_.links = LinkFilter::nvlink;
    EXPECT_THAT(violation(), HasSubstr("which the request forbids"));
}

TEST_F(VerifyForest, SharesOfRoutes) {
    some_edge().down[0].share /= 3;
    EXPECT_THAT(violation(), HasSubstr("of its data from GPU"));
    some_edge().down[0].share = -1;
    EXPECT_THAT(violation(), HasSubstr("with share -1"));
}

TEST_F(VerifyForest, DirectionThatTheCollectiveDoesNotUse) {
    request_.collective = ForestCollective::all_gather;
    EXPECT_THAT(violation(), HasSubstr("that the collective does not use"));
}

TEST_F(VerifyForest, MissingDirection) {
    some_edge().up.clear();
    EXPECT_THAT(violation(), HasSubstr("sends 0 of its data from GPU"));
}

TEST_F(VerifyForest, WrongDepth) {
    forest_.depth += 1;
    EXPECT_THAT(violation(), HasSubstr("the forest says"));
    forest_.trees[0].depth += 1;
    EXPECT_THAT(violation(), HasSubstr("tree 0 says depth"));
}

TEST_F(VerifyForest, WrongBound) {
    forest_.bound.proven *= 2;
    EXPECT_THAT(violation(), HasSubstr("the certificate proves"));
    forest_.bound.throughput += 1;
    EXPECT_THAT(violation(), HasSubstr("the bound says throughput"));
}

TEST_F(VerifyForest, CertificatesThatProveNothingAreRefused) {
    Certificate certificate;
    EXPECT_EQ(error_of([&] { proven_bound(topology_, request_, certificate); }),
              "the certificate proves no bound");
    certificate.entered = {99};
    EXPECT_THAT(error_of([&] { proven_bound(topology_, request_, certificate); }),
                HasSubstr("names node 99"));
    const ForestRequest free;
    EXPECT_EQ(error_of([&] { proven_bound(topology_, free, {}); }),
              "the certificate proves no bound");
    certificate.prices = {{2, 3, 1}};
    EXPECT_THAT(error_of([&] { proven_bound(topology_, free, certificate); }),
                HasSubstr("between nodes 2 and 3"));
    certificate.prices = {{2, 4, -1}};
    EXPECT_THAT(error_of([&] { proven_bound(topology_, free, certificate); }),
                HasSubstr("negative price"));
}

/// Whatever the prices are, they prove an upper bound: a forest that exists can't exceed it.
TEST(ProvenBound, NoPricesProveLessThanWhatTreesReach) {
    const Topology topology = load_topology("dgx1_v100");
    const ForestRequest request;
    const Bound bound = forest_bound(topology, request);
    const auto network = forest::make_network(topology, request);
    Dice dice(1);
    for (int round = 0; round < 50; ++round) {
        Certificate certificate;
        for (const forest::Edge& edge : network.network.edges) {
            certificate.prices.push_back(
                {network.node_of[edge.a], network.node_of[edge.b], Rational(dice.between(1, 9))});
        }
        EXPECT_GE(proven_bound(topology, request, certificate), bound.throughput);
    }
}

}  // namespace
}  // namespace rondo::testing
