// Forests of every preset for every collective: verified, at the bound, and shallow.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/topology/forest/support.hpp"

namespace rondo::testing {
namespace {

struct Expected {
    const char* preset;
    LinkFilter links;
    int depth;
    std::size_t trees;
};

/// The deepest and the most trees that all_reduce may need.
const Expected all_reduce[] = {
    {"dgx1_p100", LinkFilter::nvlink, 2, 16},    {"dgx1_v100", LinkFilter::nvlink, 2, 16},
    {"dgx1_v100", LinkFilter::all, 2, 30},       {"dgx2_v100", LinkFilter::all, 1, 16},
    {"dgx_a100", LinkFilter::all, 1, 8},         {"hgx_h100", LinkFilter::all, 1, 8},
    {"gb200_nvl72_1sw", LinkFilter::all, 1, 72}, {"pcie8_2sw", LinkFilter::all, 2, 12},
    {"pcie8_4sw", LinkFilter::all, 3, 16},       {"pcie4_nop2p", LinkFilter::all, 1, 4},
    {"mi250_16gcd", LinkFilter::all, 5, 28},     {"dgx_a100_x2", LinkFilter::all, 2, 40},
    {"dgx_a100_x4", LinkFilter::all, 2, 64},
};

TEST(ForestPresets, AllReduceIsShallowAndExact) {
    for (const Expected& expected : all_reduce) {
        for (const BandwidthModel model : {BandwidthModel::nccl, BandwidthModel::nominal}) {
            SCOPED_TRACE(expected.preset);
            const Forest forest = checked_forest(load_topology(expected.preset),
                                                 {.model = model, .links = expected.links});
            EXPECT_TRUE(forest.bound.exact()) << forest.bound.note;
            EXPECT_LE(forest.depth, expected.depth);
            EXPECT_LE(forest.trees.size(), expected.trees);
        }
    }
}

TEST(ForestPresets, EveryCollectiveReachesItsBound) {
    for (const std::string& preset : preset_names()) {
        for (const auto collective :
             {ForestCollective::broadcast, ForestCollective::reduce, ForestCollective::all_gather,
              ForestCollective::reduce_scatter}) {
            SCOPED_TRACE(preset + ", collective " + std::to_string(static_cast<int>(collective)));
            const Forest forest =
                checked_forest(load_topology(preset), {.collective = collective, .root = 1});
            EXPECT_TRUE(forest.bound.exact());
            EXPECT_LE(forest.depth, preset == "mi250_16gcd" ? 11 : 5);
        }
    }
}

TEST(ForestPresets, EqualSharesForAllReduce) {
    for (const char* preset : {"dgx1_v100", "mi250_16gcd", "dgx_a100_x2", "pcie8_4sw"}) {
        SCOPED_TRACE(preset);
        const Forest forest = checked_forest(load_topology(preset), {.shares = RootShares::equal});
        EXPECT_EQ(forest.throughput, forest.bound.equal_shares);
    }
}

TEST(ForestPresets, GatherTakesHalfOfWhatReduceAndGatherTake) {
    const Topology topology = load_topology("dgx_a100_x4");
    const Bound gather = forest_bound(topology, {.collective = ForestCollective::all_gather});
    const Bound all_reduce_bound = forest_bound(topology, {.shares = RootShares::equal});
    EXPECT_EQ(gather.throughput, 2 * all_reduce_bound.throughput);
}

/// Sets of trees made by another program.
TEST(ForestPresets, GoldenTreesAreMatched) {
    struct Golden {
        const char* file;
        const char* preset;
        std::vector<int> gpus;
    };
    const Golden golden[] = {{"trees_dgx1_p100.json", "dgx1_p100", {}},
                             {"trees_dgx1_v100.json", "dgx1_v100", {}},
                             {"trees_dgx1v_01234.json", "dgx1_v100", {0, 1, 2, 3, 4}},
                             {"trees_dgx1v_014.json", "dgx1_v100", {0, 1, 4}},
                             {"trees_mi250_16gcd.json", "mi250_16gcd", {}}};
    for (const Golden& expected : golden) {
        SCOPED_TRACE(expected.file);
        std::ifstream file(std::string(RONDO_TEST_DATA) + "/" + expected.file);
        const nlohmann::json trees = nlohmann::json::parse(file).at("trees");
        double throughput = 0;
        int depth = 0;
        for (const auto& tree : trees) {
            throughput += tree.at("weight_GBps").get<double>();
            depth = std::max(depth, tree.at("depth").get<int>());
        }
        const Forest forest = checked_forest(load_topology(expected.preset),
                                             {.gpus = expected.gpus, .links = LinkFilter::nvlink});
        EXPECT_NEAR(gigabytes(forest.throughput), throughput, 1e-9 * throughput);
        EXPECT_LE(forest.depth, depth);
        EXPECT_LE(forest.trees.size(), trees.size());
    }
}

TEST(ForestPresets, SameRequestSameForest) {
    const Topology topology = load_topology("dgx1_v100");
    const auto text = [&] {
        std::string result;
        for (const ForestTree& tree : build_forest(topology, {}).trees) {
            result += tree.weight.str() + " " + std::to_string(tree.root);
            for (const ForestEdge& edge : tree.edges) result += " " + std::to_string(edge.child);
        }
        return result;
    };
    EXPECT_EQ(text(), text());
}

}  // namespace
}  // namespace rondo::testing
