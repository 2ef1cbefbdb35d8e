// Writing NCCL's file: the form that NCCL accepts, and nothing lost without being named.
#include <gmock/gmock.h>

#include <sstream>

#include "tests/topology/builders.hpp"
#include "tests/topology/compare.hpp"
#include "topology/xml/nccl_xml.hpp"

namespace rondo::testing {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// Exports, reads back and compares.
void expect_no_loss(const Topology& topology) {
    const NcclXml xml = export_nccl_xml(topology);
    EXPECT_THAT(xml.left_out, IsEmpty()) << xml.text;
    EXPECT_EQ(sorted_lines(topology_from_nccl_xml(xml.text)), sorted_lines(topology)) << xml.text;
}

/// Takes `name="value"` from the front, with a value of at most 253 bytes.
bool take_attribute(std::string_view& rest) {
    const auto name = rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz_");
    if (name == 0 || !rest.substr(name).starts_with("=\"")) return false;
    const auto end = rest.find('"', name + 2);
    if (end == rest.npos || end - name - 2 > 253) return false;
    rest.remove_prefix(end + 1);
    return true;
}

/// One tag on a line, at most 16 attributes, one space before each.
bool is_one_tag(std::string_view line) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    const bool closing = line.starts_with("</");
    line.remove_prefix(closing ? 2 : line.starts_with("<") ? 1 : line.size());
    line.remove_prefix(
        std::min(line.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789"), line.size()));
    for (int attributes = 0; line.starts_with(' '); ++attributes) {
        line.remove_prefix(1);
        if (closing || attributes == 16 || !take_attribute(line)) return false;
    }
    return line == ">" || (line == "/>" && !closing);
}

class ExportedPreset : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Presets, ExportedPreset, ::testing::ValuesIn(preset_names()),
                         [](const auto& preset) { return preset.param; });

TEST_P(ExportedPreset, KeepsToTheWriterRules) {
    const std::string text = topology_to_nccl_xml(load_topology(GetParam()));
    EXPECT_THAT(text, ::testing::StartsWith("<system version=\""));
    EXPECT_THAT(text, Not(HasSubstr("\t")));
    EXPECT_LE(std::ranges::count(text, '<'), 2 * 255);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        EXPECT_TRUE(is_one_tag(line)) << line;
    }
}

TEST_P(ExportedPreset, LosesOnlyWhatTheFormatCannotSay) {
    const Topology preset = load_topology(GetParam());
    const NcclXml xml = export_nccl_xml(preset);
    if (GetParam() == "host") {
        EXPECT_THAT(xml.left_out, Each(AnyOf(HasSubstr("memory"), HasSubstr("loses details"))))
            << "costs are not in the format";
    } else if (GetParam() == "dgx2_v100") {
        EXPECT_EQ(xml.left_out.size(), 12u);
        EXPECT_THAT(xml.left_out, Each(HasSubstr("the link nvs")));
    } else if (GetParam().starts_with("dgx_a100_x")) {
        EXPECT_THAT(xml.left_out, Contains("the switch \"ib\" is left out"));
        EXPECT_THAT(xml.left_out, Each(HasSubstr("left out")));
        EXPECT_THAT(xml.left_out, Each(Not(HasSubstr("NVL"))));
    } else {
        expect_no_loss(preset);
    }
}

TEST_P(ExportedPreset, KeepsTheGpusInOrder) {
    const Topology preset = load_topology(GetParam());
    const Topology copy = topology_from_nccl_xml(topology_to_nccl_xml(preset));
    ASSERT_EQ(copy.gpu_count(), preset.gpu_count());
    for (int gpu = 0; gpu < copy.gpu_count(); ++gpu) {
        const auto id = [gpu](const Topology& topology) {
            return topology.nodes()[static_cast<std::size_t>(topology.gpu_node(gpu))].id;
        };
        EXPECT_EQ(id(copy), id(preset));
    }
    EXPECT_EQ(copy.pci_peer_access(), preset.pci_peer_access());
}

TEST(XmlExport, XgmiMakesAFileForRccl) {
    EXPECT_THAT(topology_to_nccl_xml(load_topology("mi250_16gcd")),
                HasSubstr("<system version=\"2\""));
    EXPECT_THAT(topology_to_nccl_xml(load_topology("dgx1_v100")),
                HasSubstr("<system version=\"1\""));
}

TEST(XmlExport, WritesWhatNcclNeeds) {
    const std::string text = topology_to_nccl_xml(load_topology("pcie8_4sw"));
    EXPECT_THAT(text, HasSubstr(R"(<cpu numaid="0" arch="x86_64" vendor="GenuineIntel" )"
                                R"(familyid="6" modelid="85")"));
    EXPECT_THAT(text, HasSubstr(R"(class="0x060400" link_speed="8.0 GT/s PCIe" link_width="16")"));
    EXPECT_THAT(text, HasSubstr(R"(<gpu dev="7" sm="70" rank="7" gdr="1")"));
}

TEST(XmlExport, RanksAreLeftToNcclWhereTheGpusAreUnknown) {
    const std::string text = topology_to_nccl_xml(Topology("box", {gpu("gpu0"), gpu("gpu1")}, {}));
    EXPECT_THAT(text, HasSubstr("<gpu dev=\"1\" gdr=\"1\"/>"));
    expect_no_loss(Topology("box", {gpu("gpu0"), gpu("gpu1")}, {}));
}

Link link_with(int source, int target, LinkKind kind, std::int64_t bandwidth) {
    Link link = one_way(source, target, kind);
    link.nominal = bandwidth;
    link.nccl = bandwidth / 2;
    return link;
}

TEST(XmlExport, UnusualFiguresSurvive) {
    std::vector<Link> links{
        link_with(0, 2, LinkKind::pci, 1'234'567), link_with(2, 0, LinkKind::pci, 7'654'321),
        link_with(0, 1, LinkKind::nvlink, 99'999), link_with(2, 3, LinkKind::inter_socket, 11),
        link_with(0, 4, LinkKind::nvlink, 33),     link_with(4, 0, LinkKind::nvlink, 44),
        link_with(4, 1, LinkKind::nvlink, 55),     link_with(0, 2, LinkKind::chip_to_chip, 66),
        link_with(2, 1, LinkKind::pci, 88)};
    links[0].latency_us = 0.1 + 0.2;
    links[2].count = 7;
    links[3].latency_us = 3;
    expect_no_loss(Topology("box", {gpu("x"), gpu("y"), cpu("c"), cpu("d"), a_switch("s")}, links));
}

TEST(XmlExport, NicsAndPortsSurvive) {
    Node port = nic("p");
    port.net = NetInfo{.device = 3, .name = "mlx5_<\"&>"};
    Node second = nic("q");
    second.net = NetInfo{.device = 4};
    std::vector<Link> links;
    connect(links, 0, 1, LinkKind::pci);
    connect(links, 1, 2, LinkKind::pci);
    connect(links, 3, 1, LinkKind::pci);
    connect(links, 3, 4, LinkKind::network);
    links.push_back(link_with(5, 3, LinkKind::network, 77'000));
    connect(links, 6, 2, LinkKind::pci);
    expect_no_loss(Topology(
        "box", {gpu("g"), a_switch("s"), cpu("c"), nic("n"), port, second, nic("bare")}, links));
}

TEST(XmlExport, LinksBesideThePciTreeSurvive) {
    std::vector<Link> links;
    connect(links, 0, 2, LinkKind::pci);
    connect(links, 1, 3, LinkKind::pci);
    connect(links, 2, 4, LinkKind::pci);
    connect(links, 3, 4, LinkKind::pci);
    connect(links, 2, 3, LinkKind::pci);
    expect_no_loss(
        Topology("box", {gpu("a"), gpu("b"), a_switch("s"), a_switch("t"), cpu("c")}, links));
}

TEST(XmlExport, WhatHangsNowhereSurvives) {
    Node odd = a_switch("odd");
    odd.pci = PciInfo{.bus_id = "0000:99:00.0"};
    std::vector<Link> links;
    connect(links, 0, 2, LinkKind::pci);
    expect_no_loss(
        Topology("box", {gpu("a"), gpu("b"), a_switch("s"), odd, nic("n"), cpu("c")}, links));
}

TEST(XmlExport, HostsSurvive) {
    std::vector<Node> nodes{gpu("a"), gpu("b"), cpu("c"), cpu("d"), a_switch("nvs")};
    nodes[1].host = nodes[3].host = 5;
    for (int i : {0, 1}) nodes[static_cast<std::size_t>(i)].gpu.compute_major = 9;
    nodes[3].cpu = CpuInfo{.numa_id = 0, .arch = "arm64", .host_hash = "0xfe"};
    std::vector<Link> links;
    connect(links, 0, 4, LinkKind::nvlink);
    connect(links, 1, 4, LinkKind::nvlink);
    expect_no_loss(Topology("two", nodes, links));
}

TEST(XmlExport, PartlyKnownCpusSurvive) {
    std::vector<Node> nodes{gpu("gpu0"), cpu("cpu0"), cpu("cpu1")};
    nodes[1].cpu = CpuInfo{.numa_id = 4, .affinity = "ff"};
    nodes[2].cpu = CpuInfo{.numa_id = 5, .arch = "x86_64", .vendor = "GenuineIntel", .model = 79};
    expect_no_loss(Topology("box", nodes, {}));
}

TEST(XmlExport, AmdNumbersSurvive) {
    std::vector<Node> nodes{gpu("gpu0"), gpu("gpu1")};
    nodes[0].gpu.rank = RankInfo{.device = 0, .rank = 1, .gpu_direct = false, .gcn = "gfx90a"};
    nodes[1].gpu.rank = RankInfo{.device = 1, .rank = 0, .sm = 94, .gcn = "gfx942", .arch = "7"};
    std::vector<Link> links;
    connect(links, 0, 1, LinkKind::xgmi);
    expect_no_loss(Topology("box", nodes, links));
}

TEST(XmlExport, ForbiddenPciPeersSurvive) {
    Topology topology("box", {gpu("gpu0")}, {});
    topology.set_pci_peer_access(false);
    expect_no_loss(topology);
}

TEST(XmlExport, NamesWhatItLeavesOut) {
    std::vector<Link> links;
    connect(links, 0, 1, LinkKind::memory);
    links.push_back(one_way(0, 2, LinkKind::xgmi));
    Node fabric = a_switch("fabric");
    fabric.pci = PciInfo{.bus_id = "0000:01:00.0"};
    links.push_back(one_way(0, 3, LinkKind::nvlink));
    const NcclXml xml =
        export_nccl_xml(Topology("box", {gpu("a"), gpu("b"), a_switch("s"), fabric}, links));
    EXPECT_THAT(xml.left_out,
                ::testing::UnorderedElementsAre(
                    "the switch \"s\" is left out", "the switch \"fabric\" loses details",
                    "the link a -> b (MEM) is left out", "the link b -> a (MEM) is left out",
                    "the link a -> s (XGMI) is left out"));
}

TEST(XmlExport, ASwitchBelowTwoCpusKeepsTheFirst) {
    std::vector<Link> links;
    connect(links, 0, 1, LinkKind::pci);
    connect(links, 1, 2, LinkKind::pci);
    connect(links, 1, 3, LinkKind::pci);
    connect(links, 4, 3, LinkKind::pci);
    const NcclXml xml = export_nccl_xml(
        Topology("box", {gpu("a"), a_switch("s"), cpu("c"), cpu("d"), gpu("b")}, links));
    EXPECT_THAT(xml.left_out, ::testing::UnorderedElementsAre("the link s -> d (PCI) is left out",
                                                              "the link d -> s (PCI) is left out"));
}

TEST(XmlExport, CrossbarsThatTheReaderFoldsAreNamed) {
    std::vector<Node> nodes{gpu("a"), a_switch("inner"), a_switch("outer"), cpu("c")};
    for (const std::size_t i : {1, 2}) {
        nodes[i].pci = PciInfo{.vendor = "0x1000",
                               .device = "0xc010",
                               .subsystem_vendor = "0x1000",
                               .subsystem_device = "0xa000"};
    }
    std::vector<Link> links;
    connect(links, 0, 1, LinkKind::pci);
    connect(links, 1, 2, LinkKind::pci);
    connect(links, 2, 3, LinkKind::pci);
    EXPECT_THAT(export_nccl_xml(Topology("box", nodes, links)).left_out,
                ::testing::IsSupersetOf({"the switch \"inner\" is left out",
                                         "the link a -> outer (PCI) is added",
                                         "the link outer -> inner (PCI) is left out"}));
}

TEST(XmlExport, GpusThatChangeTheirNumbersAreNamed) {
    std::vector<Node> nodes{gpu("gpu0"), gpu("gpu1")};
    nodes[0].host = 1;
    EXPECT_THAT(export_nccl_xml(Topology("box", nodes, {})).left_out,
                Contains(HasSubstr("GPU 0 was \"gpu0\" and becomes \"gpu1\"")));
}

TEST(XmlExport, WhatNcclsParserWouldRefuseIsRefused) {
    EXPECT_THAT(error_of([] { topology_to_nccl_xml(make_host_topology(200)); }),
                HasSubstr("more elements; NCCL reads at most 255"));
    EXPECT_THAT(error_of([] { topology_to_nccl_xml(Topology("a\nb", {gpu("g")}, {})); }),
                HasSubstr("attribute name of <system>"));
    EXPECT_THAT(
        error_of([] { topology_to_nccl_xml(Topology("x", {gpu(std::string(250, '&'))}, {})); }),
        HasSubstr("rondo_id"));
}

TEST(XmlExport, NumbersThatClashAreRefused) {
    std::vector<Node> nodes{gpu("gpu0"), gpu("gpu1")};
    nodes[0].gpu.rank = RankInfo{.device = 1, .rank = 0};
    EXPECT_THAT(error_of([&] { topology_to_nccl_xml(Topology("x", nodes, {})); }),
                HasSubstr("NCCL's XML cannot hold this topology"));
}

}  // namespace
}  // namespace rondo::testing
