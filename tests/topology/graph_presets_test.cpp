// The presets against what is known of the machines that they describe.
#include "topology/graph/presets.hpp"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "tests/topology/builders.hpp"
#include "topology/graph/json.hpp"

namespace rondo::testing {
namespace {

class EveryPreset : public ::testing::TestWithParam<std::string> {
protected:
    Topology topology_ = load_topology(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Presets, EveryPreset, ::testing::ValuesIn(preset_names()),
                         [](const auto& preset) { return preset.param; });

TEST_P(EveryPreset, IsNamedLikeItsFileAndDescribed) {
    EXPECT_EQ(topology_.name(), GetParam());
    EXPECT_NE(topology_.description(), "");
}

TEST_P(EveryPreset, IsWrittenInTheCanonicalForm) {
    EXPECT_EQ(topology_to_json(topology_), find_preset(GetParam())->json);
}

TEST_P(EveryPreset, SurvivesTheWayThereAndBack) {
    EXPECT_EQ(topology_from_json(topology_to_json(topology_)), topology_);
}

TEST_P(EveryPreset, HasTheSameBandwidthInBothDirections) {
    std::map<std::tuple<int, int, LinkKind>, Link> links;
    for (const Link& link : topology_.links()) {
        links[{link.source, link.target, link.kind}] = link;
    }
    for (const Link& link : topology_.links()) {
        const auto back = links.find({link.target, link.source, link.kind});
        ASSERT_NE(back, links.end());
        EXPECT_EQ(back->second.nominal, link.nominal);
        EXPECT_EQ(back->second.nccl, link.nccl);
        EXPECT_EQ(back->second.count, link.count);
    }
}

TEST_P(EveryPreset, PeerAccessIsSymmetric) {
    for (int a = 0; a < topology_.gpu_count(); ++a) {
        for (int b = 0; b < a; ++b) {
            EXPECT_EQ(topology_.peer_access(a, b), topology_.peer_access(b, a)) << a << " " << b;
        }
    }
}

TEST_P(EveryPreset, SaysWhatItsGpusAre) {
    for (int gpu = 0; gpu < topology_.gpu_count(); ++gpu) {
        const GpuInfo& info =
            topology_.nodes()[static_cast<std::size_t>(topology_.gpu_node(gpu))].gpu;
        EXPECT_NE(info.model, "");
        EXPECT_NE(info.bus_id, "");
    }
}

TEST(Presets, AreAllThere) {
    EXPECT_THAT(
        preset_names(),
        ::testing::ElementsAre("dgx1_p100", "dgx1_v100", "dgx2_v100", "dgx_a100", "dgx_a100_x2",
                               "dgx_a100_x4", "gb200_nvl72_1sw", "hgx_h100", "host", "mi250_16gcd",
                               "pcie4_nop2p", "pcie8_2sw", "pcie8_4sw"));
}

TEST(Presets, HaveTheirNumberOfGpus) {
    const std::map<std::string, int> gpus{
        {"dgx1_p100", 8},    {"dgx1_v100", 8},    {"dgx2_v100", 16},       {"dgx_a100", 8},
        {"dgx_a100_x2", 16}, {"dgx_a100_x4", 32}, {"gb200_nvl72_1sw", 72}, {"hgx_h100", 8},
        {"host", 8},         {"mi250_16gcd", 16}, {"pcie4_nop2p", 4},      {"pcie8_2sw", 8},
        {"pcie8_4sw", 8}};
    for (const auto& [name, count] : gpus)
        EXPECT_EQ(load_topology(name).gpu_count(), count) << name;
}

TEST(Presets, HostIsEightVirtualGpus) {
    EXPECT_EQ(load_topology("host"), make_host_topology(8));
}

/// What leaves GPU 0 over links of `kind`.
struct Egress {
    int count = 0;
    std::int64_t nominal = 0;
    std::int64_t nccl = 0;
    bool operator==(const Egress&) const = default;
};

Egress egress(const Topology& topology, int gpu, LinkKind kind) {
    Egress sum;
    for (const Link& link : topology.links()) {
        if (link.source != topology.gpu_node(gpu) || link.kind != kind) continue;
        sum.count += link.count;
        sum.nominal += link.nominal;
        sum.nccl += link.nccl;
    }
    return sum;
}

TEST(Presets, EveryGpuHasTheFabricLinksOfItsGeneration) {
    const std::map<std::string, Egress> nvlinks{
        {"dgx1_p100", {4, 80'000'000'000, 72'000'000'000}},
        {"dgx1_v100", {6, 150'000'000'000, 120'000'000'000}},
        {"dgx2_v100", {6, 150'000'000'000, 120'000'000'000}},
        {"dgx_a100", {12, 300'000'000'000, 240'000'000'000}},
        {"dgx_a100_x2", {12, 300'000'000'000, 240'000'000'000}},
        {"dgx_a100_x4", {12, 300'000'000'000, 240'000'000'000}},
        {"hgx_h100", {18, 450'000'000'000, 370'800'000'000}},
        {"gb200_nvl72_1sw", {18, 900'000'000'000, 721'800'000'000}}};
    for (const auto& [name, expected] : nvlinks) {
        const Topology topology = load_topology(name);
        for (int gpu = 0; gpu < topology.gpu_count(); ++gpu) {
            EXPECT_EQ(egress(topology, gpu, LinkKind::nvlink), expected) << name << " " << gpu;
        }
    }
    const Topology mi250 = load_topology("mi250_16gcd");
    std::multiset<int> links;
    for (int gpu = 0; gpu < 16; ++gpu) {
        const Egress xgmi = egress(mi250, gpu, LinkKind::xgmi);
        links.insert(xgmi.count);
        EXPECT_EQ(xgmi.nominal, 50'000'000'000 * xgmi.count);
        EXPECT_EQ(xgmi.nccl, 36'000'000'000 * xgmi.count);
    }
    EXPECT_EQ(links.count(7), links.size()) << "7 xGMI links per GCD";
}

TEST(Presets, Dgx1vIsTheHybridCubeMesh) {
    const Topology dgx1v = load_topology("dgx1_v100");
    std::map<std::pair<int, int>, int> counts;
    for (const Link& link : dgx1v.links()) {
        if (link.kind == LinkKind::nvlink) counts[{link.source, link.target}] = link.count;
    }
    const std::map<std::pair<int, int>, int> expected{
        {{0, 1}, 1}, {{0, 2}, 1}, {{0, 3}, 2}, {{0, 4}, 2}, {{1, 2}, 2}, {{1, 3}, 1},
        {{1, 5}, 2}, {{2, 3}, 2}, {{2, 6}, 1}, {{3, 7}, 1}, {{4, 5}, 1}, {{4, 6}, 1},
        {{4, 7}, 2}, {{5, 6}, 2}, {{5, 7}, 1}, {{6, 7}, 2}};
    EXPECT_EQ(counts.size(), 2 * expected.size());
    for (const auto& [pair, count] : expected) {
        EXPECT_EQ((counts[pair]), count) << pair.first << " -> " << pair.second;
        EXPECT_EQ((counts[{pair.second, pair.first}]), count);
    }
}

TEST(Presets, Dgx1PeersAreQuadsAndPartners) {
    for (const char* name : {"dgx1_p100", "dgx1_v100"}) {
        const Topology dgx1 = load_topology(name);
        for (int a = 0; a < 8; ++a) {
            for (int b = 0; b < 8; ++b) {
                const bool expected = a / 4 == b / 4 || a % 4 == b % 4;
                EXPECT_EQ(dgx1.peer_access(a, b), expected) << name << " " << a << " " << b;
            }
        }
    }
}

int peer_pairs(const Topology& topology) {
    int pairs = 0;
    for (int a = 0; a < topology.gpu_count(); ++a) {
        for (int b = 0; b < a; ++b) pairs += topology.peer_access(a, b);
    }
    return pairs;
}

TEST(Presets, SwitchedMachinesConnectAllPairsWithinANode) {
    EXPECT_EQ(peer_pairs(load_topology("dgx2_v100")), 16 * 15 / 2);
    EXPECT_EQ(peer_pairs(load_topology("dgx_a100")), 8 * 7 / 2);
    EXPECT_EQ(peer_pairs(load_topology("hgx_h100")), 8 * 7 / 2);
    EXPECT_EQ(peer_pairs(load_topology("gb200_nvl72_1sw")), 72 * 71 / 2);
    EXPECT_EQ(peer_pairs(load_topology("dgx_a100_x2")), 2 * 8 * 7 / 2);
    EXPECT_EQ(peer_pairs(load_topology("dgx_a100_x4")), 4 * 8 * 7 / 2);
}

TEST(Presets, PciBoxesConnectTheGpusOfASocketUnlessPeersAreForbidden) {
    EXPECT_EQ(peer_pairs(load_topology("pcie8_2sw")), 2 * 4 * 3 / 2);
    EXPECT_EQ(peer_pairs(load_topology("pcie8_4sw")), 2 * 4 * 3 / 2);
    EXPECT_FALSE(load_topology("pcie4_nop2p").pci_peer_access());
    EXPECT_EQ(peer_pairs(load_topology("pcie4_nop2p")), 0);
}

TEST(Presets, Mi250HasOnlyItsDirectNeighbours) {
    const Topology mi250 = load_topology("mi250_16gcd");
    EXPECT_EQ(peer_pairs(mi250), static_cast<int>(mi250.links().size()) / 2);
    EXPECT_LT(peer_pairs(mi250), 16 * 15 / 2);
}

TEST(Presets, Mi250GcdsOfOnePackageHaveFourLinks) {
    const Topology mi250 = load_topology("mi250_16gcd");
    int packages = 0;
    for (const Link& link : mi250.links()) packages += link.count == 4;
    EXPECT_EQ(packages, 16) << "8 packages, both directions";
}

}  // namespace
}  // namespace rondo::testing
