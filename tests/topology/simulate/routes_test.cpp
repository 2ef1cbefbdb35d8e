// Which links are used between two GPUs.
#include <gtest/gtest.h>

#include "tests/topology/simulate/support.hpp"
#include "topology/forest/forest.hpp"

namespace rondo::test {
namespace {

TEST(Routes, NvlinkWhereItJoinsTwoElsePci) {
    const Topology topology = load_topology("dgx1_v100");
    const Routing routing(topology, {});
    ASSERT_NE(routing.path(0, 1), nullptr);
    EXPECT_EQ(routing.path(0, 1)->kind, simulation::PathKind::fabric);
    EXPECT_EQ(routing.path(0, 1)->routes.size(), 1u);
    EXPECT_EQ(routing.path(0, 1)->routes[0].links.size(), 1u);
    EXPECT_NEAR(routing.bandwidth(0, 3), 40e9, 1);                   // two NVLinks
    EXPECT_EQ(routing.path(0, 5)->kind, simulation::PathKind::pci);  // never through another GPU
    EXPECT_NEAR(routing.bandwidth(0, 5), 6e9, 1);                    // from socket to socket
    EXPECT_TRUE(routing.joins_all());
    const Routing nvlink(topology, {.fabric_only = true});
    EXPECT_EQ(nvlink.path(0, 5), nullptr);
    EXPECT_EQ(nvlink.bandwidth(0, 5), 0);
    EXPECT_FALSE(nvlink.joins_all());
}

TEST(Routes, TrafficIsSpreadOverAllPlanes) {
    const Topology topology = load_topology("dgx_a100");  // six switches
    const Routing routing(topology, {});
    EXPECT_EQ(routing.path(0, 7)->routes.size(), 6u);
    EXPECT_NEAR(routing.bandwidth(0, 7), 240e9, 1);
}

TEST(Routes, OfAForestAreTakenOver) {
    const Topology topology = load_topology("dgx1_v100");
    Routing routing(topology, {});
    const Forest forest = build_forest(topology, {.links = LinkFilter::all});
    routing.use(forest);
    // All trees' edges together load no link beyond its bandwidth.
    std::vector<double> load(topology.links().size());
    for (const ForestTree& tree : forest.trees) {
        for (const ForestEdge& edge : tree.edges) {
            for (const auto& [from, to] :
                 {std::pair{edge.parent, edge.child}, std::pair{edge.child, edge.parent}}) {
                const Path* const path =
                    routing.path(static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to));
                ASSERT_NE(path, nullptr);
                for (const Route& route : path->routes) {
                    for (const int link : route.links) {
                        load[static_cast<std::size_t>(link)] +=
                            route.share * tree.weight.convert_to<double>();
                    }
                }
            }
        }
    }
    for (std::size_t i = 0; i < load.size(); ++i) {
        EXPECT_LE(load[i], static_cast<double>(topology.links()[i].nccl) * (1 + 1e-9));
    }
}

TEST(Routes, GpusThatDoNotExistAreNamed) {
    const Topology topology = load_topology("dgx1_v100");
    EXPECT_THROW(Routing(topology, {.gpus = {0, 8}}), TopologyError);
    EXPECT_THROW(Routing(topology, {.gpus = {0, 0}}), TopologyError);
}

}  // namespace
}  // namespace rondo::test
