// Random topologies: an export either loses nothing or says so, and never breaks.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/topology/builders.hpp"
#include "tests/topology/compare.hpp"
#include "topology/xml/nccl_xml.hpp"

namespace rondo::testing {
namespace {

class RandomTopology {
public:
    explicit RandomTopology(unsigned seed) : random_(seed) {}

    Topology make() {
        const int count = pick(1, 12);
        nodes_.push_back(gpu("gpu0"));
        for (int i = 1; i < count; ++i) {
            nodes_.push_back(make_node("n" + std::to_string(i), static_cast<NodeType>(pick(0, 3))));
        }
        for (Node& node : nodes_) add_details(node);
        for (int i = pick(0, 3 * count); i > 0; --i) add_link();
        return Topology("random", nodes_, links_);
    }

private:
    int pick(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }
    bool chance(int percent) { return pick(1, 100) <= percent; }

    std::string bus_id() {
        return "0000:" + std::to_string(10 + static_cast<int>(bus_ids_++)) + ":00.0";
    }

    void add_details(Node& node) {
        if (chance(15)) node.host = pick(0, 2);
        if (chance(10)) node.id = (node.type == NodeType::gpu ? "gpu" : "pci") + node.id;
        if (node.type == NodeType::gpu) {
            if (chance(60)) node.gpu.bus_id = bus_id();
            if (chance(70)) node.gpu.compute_major = pick(6, 12);
            if (chance(20)) node.gpu.rank = RankInfo{.device = pick(0, 20), .rank = pick(0, 20)};
            if (node.gpu.rank && chance(50)) node.gpu.rank->gcn = "gfx90a";
        }
        if (node.type == NodeType::cpu && chance(50)) {
            node.cpu = CpuInfo{.numa_id = pick(-1, 20), .arch = chance(50) ? "arm64" : ""};
        }
        if (node.type == NodeType::nic && chance(40)) node.net = NetInfo{.device = pick(0, 9)};
        if (node.type != NodeType::cpu && chance(30)) {
            node.pci = PciInfo{.link_speed = "16.0 GT/s PCIe", .link_width = pick(0, 16)};
            if (node.type != NodeType::gpu && chance(70)) node.pci->bus_id = bus_id();
        }
    }

    void add_link() {
        const int last = static_cast<int>(nodes_.size()) - 1;
        const int source = pick(0, last);
        const int target = pick(0, last);
        const auto kind = static_cast<LinkKind>(chance(60) ? 2 : pick(0, 6));
        for (const auto& [from, to] : {std::pair(source, target), std::pair(target, source)}) {
            if (from == to || chance(15) || !known_.emplace(from, to, kind).second) continue;
            Link link = one_way(from, to, kind);
            if (chance(30)) link.nominal = pick(1, 1'000'000);
            if (chance(30)) link.nccl = pick(1, 100) * 1'000'000'000LL;
            if (chance(20)) link.count = pick(1, 8);
            if (chance(20)) link.latency_us = pick(0, 100) / 8.0;
            links_.push_back(link);
        }
    }

    std::mt19937 random_;
    std::vector<Node> nodes_;
    std::vector<Link> links_;
    std::set<std::tuple<int, int, LinkKind>> known_;
    unsigned bus_ids_ = 0;
};

std::vector<std::string> gpu_ids(const Topology& topology) {
    std::vector<std::string> ids;
    for (const Node& node : topology.nodes()) {
        if (node.type == NodeType::gpu) ids.push_back(node.id);
    }
    return ids;
}

TEST(RandomTopologies, SurviveJson) {
    for (unsigned seed = 0; seed < 200; ++seed) {
        const Topology topology = RandomTopology(seed).make();
        ASSERT_EQ(topology_from_json(topology_to_json(topology)), topology) << "seed " << seed;
    }
}

TEST(RandomTopologies, AreExportedWithoutLossOrWithAWord) {
    int complete = 0;
    int refused = 0;
    for (unsigned seed = 0; seed < 1000; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const Topology topology = RandomTopology(seed).make();
        NcclXml xml;
        try {
            xml = export_nccl_xml(topology);
        } catch (const TopologyError& error) {
            // Clashing ranks, device numbers or NUMA ids.
            ASSERT_NE(std::string(error.what()).find("twice"), std::string::npos) << error.what();
            ++refused;
            continue;
        }
        const Topology copy = topology_from_nccl_xml(xml.text);
        const bool same =
            sorted_lines(copy) == sorted_lines(topology) && gpu_ids(copy) == gpu_ids(topology);
        ASSERT_EQ(same, xml.left_out.empty()) << xml.text;
        ASSERT_EQ(copy.gpu_count(), topology.gpu_count()) << xml.text;
        complete += xml.left_out.empty();
    }
    EXPECT_GT(complete, 100);
    EXPECT_LT(refused, 500);
}

TEST(RandomTopologies, WhatWasReadFromXmlIsWrittenCompletely) {
    for (unsigned seed = 0; seed < 500; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::string text;
        try {
            text = topology_to_nccl_xml(RandomTopology(seed).make());
        } catch (const TopologyError&) {
            continue;
        }
        const Topology topology = topology_from_nccl_xml(text);
        const NcclXml again = export_nccl_xml(topology);
        ASSERT_TRUE(again.left_out.empty()) << again.left_out[0] << "\n" << text << again.text;
        ASSERT_EQ(sorted_lines(topology_from_nccl_xml(again.text)), sorted_lines(topology));
    }
}

}  // namespace
}  // namespace rondo::testing
