// Who may map whose memory: the rule, one case at a time.
#include "tests/topology/builders.hpp"

namespace rondo::testing {
namespace {

TEST(PeerAccess, AGpuReachesItself) {
    const Topology topology("box", {gpu("a"), gpu("b")}, {});
    EXPECT_TRUE(topology.peer_access(0, 0));
    EXPECT_FALSE(topology.peer_access(0, 1));
}

TEST(PeerAccess, RefusesGpusThatDoNotExist) {
    const Topology topology("box", {gpu("a"), cpu("c")}, {});
    EXPECT_THROW(topology.peer_access(0, 1), std::out_of_range);
    EXPECT_THROW(topology.peer_access(-1, 0), std::out_of_range);
}

TEST(PeerAccess, NeighboursOverAFabricReachEachOther) {
    for (const LinkKind kind : {LinkKind::nvlink, LinkKind::xgmi, LinkKind::memory}) {
        std::vector<Link> links;
        connect(links, 0, 1, kind);
        Topology topology("box", {gpu("a"), gpu("b")}, links);
        topology.set_pci_peer_access(false);
        EXPECT_TRUE(topology.peer_access(0, 1));
        EXPECT_TRUE(topology.peer_access(1, 0));
    }
}

TEST(PeerAccess, NeverThroughAnotherGpu) {
    for (const LinkKind kind : {LinkKind::nvlink, LinkKind::pci}) {
        std::vector<Link> links;
        connect(links, 0, 1, kind);
        connect(links, 1, 2, kind);
        const Topology topology("path", {gpu("a"), gpu("b"), gpu("c")}, links);
        EXPECT_TRUE(topology.peer_access(0, 1));
        EXPECT_FALSE(topology.peer_access(0, 2));
    }
}

TEST(PeerAccess, ThroughSeveralSwitchesOfOneKind) {
    std::vector<Link> links;
    connect(links, 0, 2, LinkKind::nvlink);
    connect(links, 2, 3, LinkKind::nvlink);
    connect(links, 3, 1, LinkKind::nvlink);
    const Topology topology("box", {gpu("a"), gpu("b"), a_switch("s"), a_switch("t")}, links);
    EXPECT_TRUE(topology.peer_access(0, 1));
}

TEST(PeerAccess, ASwitchDoesNotTranslateBetweenKinds) {
    std::vector<Link> links;
    connect(links, 0, 2, LinkKind::nvlink);
    connect(links, 2, 1, LinkKind::xgmi);
    const Topology topology("box", {gpu("a"), gpu("b"), a_switch("s")}, links);
    EXPECT_FALSE(topology.peer_access(0, 1));
}

TEST(PeerAccess, AFabricDoesNotPassThroughACpu) {
    std::vector<Link> links;
    connect(links, 0, 2, LinkKind::nvlink);
    connect(links, 2, 1, LinkKind::nvlink);
    const Topology topology("power9", {gpu("a"), gpu("b"), cpu("c")}, links);
    EXPECT_FALSE(topology.peer_access(0, 1));
}

TEST(PeerAccess, ALinkThatLeadsOnlyOneWayIsNotEnough) {
    const Topology topology("box", {gpu("a"), gpu("b")}, {one_way(0, 1, LinkKind::nvlink)});
    EXPECT_FALSE(topology.peer_access(0, 1));
    EXPECT_FALSE(topology.peer_access(1, 0));
}

/// Two sockets; GPUs a, b behind a switch and c straight at socket 0, d at socket 1.
Topology two_sockets() {
    const std::vector<Node> nodes{gpu("a"), gpu("b"), gpu("c"),       gpu("d"),
                                  cpu("0"), cpu("1"), a_switch("plx")};
    std::vector<Link> links;
    connect(links, 0, 6, LinkKind::pci);
    connect(links, 1, 6, LinkKind::pci);
    connect(links, 6, 4, LinkKind::pci);
    connect(links, 2, 4, LinkKind::pci);
    connect(links, 3, 5, LinkKind::pci);
    connect(links, 4, 5, LinkKind::inter_socket);
    return Topology("two sockets", nodes, links);
}

TEST(PeerAccess, UnderOnePciRoot) {
    const Topology topology = two_sockets();
    EXPECT_TRUE(topology.peer_access(0, 1)) << "one switch";
    EXPECT_TRUE(topology.peer_access(0, 2)) << "switch and root";
    EXPECT_FALSE(topology.peer_access(0, 3)) << "the other socket";
    EXPECT_FALSE(topology.peer_access(3, 2)) << "the other socket";
}

TEST(PeerAccess, PciPeersCanBeForbidden) {
    Topology topology = two_sockets();
    topology.set_pci_peer_access(false);
    EXPECT_FALSE(topology.peer_access(0, 1));
    EXPECT_FALSE(topology.peer_access(0, 2));
    EXPECT_TRUE(topology.peer_access(2, 2));
}

TEST(PeerAccess, SinglePairsCanBeForbidden) {
    Topology topology = two_sockets();
    topology.set_no_peer_access({{2, 0}, {0, 2}, {2, 0}});
    EXPECT_EQ(topology.no_peer_access().size(), 2u);
    EXPECT_FALSE(topology.peer_access(0, 2));
    EXPECT_FALSE(topology.peer_access(2, 0));
    EXPECT_TRUE(topology.peer_access(0, 1));
    topology.set_no_peer_access({{0, 2}});
    EXPECT_TRUE(topology.peer_access(2, 0)) << "one direction alone";
    EXPECT_THROW(topology.set_no_peer_access({{0, 9}}), TopologyError);
    EXPECT_THROW(topology.set_no_peer_access({{1, 1}}), TopologyError);
}

TEST(PeerAccess, APciPathHasOneRoot) {
    std::vector<Link> links;
    connect(links, 0, 2, LinkKind::pci);
    connect(links, 2, 3, LinkKind::pci);
    connect(links, 3, 1, LinkKind::pci);
    const Topology topology("odd", {gpu("a"), gpu("b"), cpu("0"), cpu("1")}, links);
    EXPECT_FALSE(topology.peer_access(0, 1));
}

TEST(PeerAccess, ThePathWithoutARootCountsEvenIfTheOneThroughItIsShorter) {
    // a - root - t and a - s - u - t; then t - root2 - b: only the second way leaves room for
    // root2.
    const std::vector<Node> nodes{gpu("a"),      gpu("b"),      cpu("root"),  cpu("root2"),
                                  a_switch("s"), a_switch("t"), a_switch("u")};
    std::vector<Link> links;
    connect(links, 0, 2, LinkKind::pci);
    connect(links, 2, 5, LinkKind::pci);
    connect(links, 0, 4, LinkKind::pci);
    connect(links, 4, 6, LinkKind::pci);
    connect(links, 6, 5, LinkKind::pci);
    connect(links, 5, 3, LinkKind::pci);
    connect(links, 3, 1, LinkKind::pci);
    EXPECT_TRUE(Topology("box", nodes, links).peer_access(0, 1));
}

TEST(PeerAccess, NeverOverTheNetworkOrThroughANic) {
    std::vector<Link> links;
    connect(links, 0, 2, LinkKind::network);
    connect(links, 2, 1, LinkKind::network);
    connect(links, 0, 3, LinkKind::pci);
    connect(links, 3, 1, LinkKind::pci);
    const Topology topology("box", {gpu("a"), gpu("b"), a_switch("ib"), nic("n")}, links);
    EXPECT_FALSE(topology.peer_access(0, 1));
}

}  // namespace
}  // namespace rondo::testing
