// Peers: what CUDA refuses is not offered, what is broken is taken out.
#include <gmock/gmock.h>

#include "tests/topology/detect/fake_machine.hpp"
#include "topology/detect/assemble.hpp"

namespace rondo::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Three GPUs below one CPU; the first two also joined by NVLink.
detection::Graph three_gpus() {
    detection::Graph graph;
    for (int gpu = 0; gpu < 3; ++gpu) {
        graph.add({.id = fmt::format("gpu{}", gpu), .type = NodeType::gpu});
    }
    graph.gpus = 3;
    const int cpu = graph.add({.id = "cpu0", .type = NodeType::cpu});
    for (int gpu = 0; gpu < 3; ++gpu) graph.connect(cpu, gpu, LinkKind::pci, 1, {12, 12});
    graph.connect(0, 1, LinkKind::nvlink, 1, {20, 20});
    return graph;
}

/// What CUDA says: rows of `from`.
detection::CudaFacts cuda_says(std::vector<bool> access) {
    detection::CudaFacts facts;
    facts.gpus.resize(3);
    facts.atomics.assign(access.size(), false);
    facts.access = std::move(access);
    return facts;
}

TEST(DetectedPeers, AreWhatCudaAllows) {
    FactLog log;
    const Topology topology =
        detection::with_peers(three_gpus(), cuda_says({1, 1, 1, 1, 1, 0, 1, 0, 1}), log);
    EXPECT_TRUE(topology.pci_peer_access());
    EXPECT_TRUE(topology.peer_access(0, 2));
    EXPECT_FALSE(topology.peer_access(1, 2));
    EXPECT_FALSE(topology.peer_access(2, 1));
    EXPECT_THAT(topology.no_peer_access(), SizeIs(2));
    EXPECT_THAT(log.warnings(), IsEmpty());
}

TEST(DetectedPeers, PciIsSwitchedOffAsAWholeWhereCudaRefusesAllOfIt) {
    FactLog log;
    const Topology topology =
        detection::with_peers(three_gpus(), cuda_says({1, 1, 0, 1, 1, 0, 0, 0, 1}), log);
    EXPECT_FALSE(topology.pci_peer_access());
    EXPECT_THAT(topology.no_peer_access(), IsEmpty());
    EXPECT_TRUE(topology.peer_access(0, 1)) << "NVLink stays";
    EXPECT_FALSE(topology.peer_access(0, 2));
}

TEST(DetectedPeers, WhatWiringCannotExplainIsNotUsed) {
    detection::Graph graph = three_gpus();
    std::erase_if(graph.links,
                  [](const Link& link) { return link.source == 2 || link.target == 2; });
    FactLog log;
    const Topology topology =
        detection::with_peers(graph, cuda_says({1, 1, 1, 1, 1, 1, 1, 1, 1}), log);
    EXPECT_FALSE(topology.peer_access(0, 2));
    EXPECT_THAT(log.warnings(), Contains(HasSubstr("peer access for 4 pairs")));
}

TEST(DetectedPeers, ABrokenPairLosesItsOwnLink) {
    FactLog log;
    const Topology whole =
        detection::with_peers(three_gpus(), cuda_says(std::vector<bool>(9, true)), log);
    const Topology topology = detection::without(whole, {{0, 1}});
    EXPECT_EQ(link_between(topology, "gpu0", "gpu1").count, 0);
    EXPECT_EQ(link_between(topology, "gpu1", "gpu0").count, 0);
    EXPECT_FALSE(topology.peer_access(0, 1)) << "nor over PCI Express";
    EXPECT_TRUE(topology.peer_access(0, 2));
}

TEST(DetectedPeers, ABrokenPairBehindASwitchLosesOnlyItsPeerAccess) {
    FactLog log;
    const Topology whole =
        detection::with_peers(three_gpus(), cuda_says(std::vector<bool>(9, true)), log);
    const Topology topology = detection::without(whole, {{0, 2}});
    EXPECT_THAT(topology.links(), SizeIs(whole.links().size()));
    EXPECT_FALSE(topology.peer_access(0, 2));
    EXPECT_FALSE(topology.peer_access(2, 0));
    EXPECT_TRUE(topology.peer_access(1, 2));
}

}  // namespace
}  // namespace rondo::testing
