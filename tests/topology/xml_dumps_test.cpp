// Dumps of real machines: a DGX-1V (NCCL) and eight MI250 (RCCL).
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "tests/topology/builders.hpp"
#include "tests/topology/compare.hpp"
#include "topology/graph/text_file.hpp"
#include "topology/xml/nccl_xml.hpp"

namespace rondo::testing {
namespace {

Topology read_dump(const std::string& file) {
    return topology_from_nccl_xml(read_text_file(RONDO_TEST_DATA "/" + file));
}
Topology dgx1v() {
    return read_dump("dgx1v_8gpu_blinkplus.xml");
}
Topology mi250() {
    return read_dump("rccl_mi250_16gcd_16p1h.xml");
}

const GpuInfo& gpu_info(const Topology& topology, int gpu) {
    return topology.nodes()[static_cast<std::size_t>(topology.gpu_node(gpu))].gpu;
}

/// "gpu0 gpu1 NVL x2 50000000000 40000000000" for every link between nodes that `name` names.
template <class Name>
std::set<std::string> link_lines(const Topology& topology, Name name) {
    std::set<std::string> lines;
    for (const Link& link : topology.links()) {
        const std::string source = name(topology.nodes()[static_cast<std::size_t>(link.source)]);
        const std::string target = name(topology.nodes()[static_cast<std::size_t>(link.target)]);
        if (source.empty() || target.empty()) continue;
        lines.insert(source + " " + target + " " + std::to_string(static_cast<int>(link.kind)) +
                     " x" + std::to_string(link.count) + " " + std::to_string(link.nominal) + " " +
                     std::to_string(link.nccl));
    }
    return lines;
}

TEST(Dgx1vDump, HasThePresetsLinks) {
    // The preset calls the switches plx0..3, the importer pci0..3; the preset has no NICs.
    const auto name = [](const Node& node) {
        if (node.type == NodeType::nic) return std::string();
        return node.id.starts_with("plx") ? "pci" + node.id.substr(3) : node.id;
    };
    const auto links = link_lines(dgx1v(), name);
    EXPECT_EQ(links, link_lines(load_topology("dgx1_v100"), name));
    EXPECT_EQ(links.size(), 32u + 24u + 2u);
}

TEST(Dgx1vDump, HasThePresetsGpus) {
    const Topology dump = dgx1v();
    const Topology preset = load_topology("dgx1_v100");
    ASSERT_EQ(dump.gpu_count(), preset.gpu_count());
    for (int gpu = 0; gpu < 8; ++gpu) {
        EXPECT_EQ(gpu_info(dump, gpu).bus_id, gpu_info(preset, gpu).bus_id);
        EXPECT_EQ(gpu_info(dump, gpu).compute_major, 7);
        EXPECT_EQ(gpu_info(dump, gpu).compute_minor, 0);
        EXPECT_EQ(gpu_info(dump, gpu).rank, std::nullopt) << "numbered as usual";
        for (int other = 0; other < 8; ++other) {
            EXPECT_EQ(dump.peer_access(gpu, other), preset.peer_access(gpu, other));
        }
    }
}

TEST(Dgx1vDump, KeepsWhatIsKnownOfTheMachine) {
    const Topology dump = dgx1v();
    EXPECT_EQ(node_of(dump, "cpu1").cpu, (CpuInfo{.numa_id = 1,
                                                  .affinity = "ffff,f00000ff,fff00000",
                                                  .arch = "x86_64",
                                                  .vendor = "GenuineIntel",
                                                  .family = 6,
                                                  .model = 79}));
    EXPECT_EQ(node_of(dump, "pci0").pci, (PciInfo{.bus_id = "0000:03:00.0",
                                                  .device_class = "0x060400",
                                                  .vendor = "0x10b5",
                                                  .device = "0x8764",
                                                  .subsystem_vendor = "0x10b5",
                                                  .subsystem_device = "0x8764",
                                                  .link_speed = "8 GT/s",
                                                  .link_width = 16}));
    EXPECT_EQ(node_of(dump, "gpu0").pci->device, "0x1db5");
}

TEST(Dgx1vDump, HasItsNics) {
    const Topology dump = dgx1v();
    EXPECT_EQ(node_of(dump, "nic0").pci->bus_id, "0000:01:00.0");
    EXPECT_EQ(find_link(dump, "nic0", "cpu0", LinkKind::pci)->nccl, 3'000'000'000);
    EXPECT_EQ(node_of(dump, "nic1").pci, std::nullopt) << "hangs on the CPU without a device";
    EXPECT_EQ(find_link(dump, "cpu0", "nic1", LinkKind::pci)->nccl, 5'000'000'000'000);
    EXPECT_EQ(node_of(dump, "net0").net, (NetInfo{.device = 0,
                                                  .name = "enp1s0f0",
                                                  .guid = "0x0",
                                                  .port = 0,
                                                  .max_connections = 65'536,
                                                  .gpu_direct = 0}));
    const Link* link = find_link(dump, "nic0", "net0", LinkKind::network);
    EXPECT_EQ(link->nccl, 125'000'000);
    EXPECT_EQ(link->latency_us, 0.0);
    EXPECT_EQ(node_of(dump, "net2").net->name, "br-d774142ed332");
    EXPECT_EQ(find_link(dump, "net2", "nic1", LinkKind::network)->nccl, 1'250'000'000);
}

TEST(Mi250Dump, HasThePresetsXgmiLinks) {
    // The preset numbers the GCDs in another order; the bus ids tell which is which.
    const auto name = [](const Node& node) { return node.gpu.bus_id; };
    const auto links = link_lines(mi250(), name);
    EXPECT_EQ(links, link_lines(load_topology("mi250_16gcd"), name));
    EXPECT_EQ(links.size(), 56u);
}

TEST(Mi250Dump, KeepsRcclsNumbers) {
    const Topology dump = mi250();
    EXPECT_EQ(dump.gpu_count(), 16);
    for (int gpu = 0; gpu < 16; ++gpu) {
        EXPECT_EQ(gpu_info(dump, gpu).rank,
                  (RankInfo{.device = gpu, .rank = gpu, .sm = 104, .gcn = "910", .arch = "38911"}));
        EXPECT_EQ(gpu_info(dump, gpu).compute_major, 0) << "no compute capability";
    }
}

TEST(Mi250Dump, TwoLevelsOfABroadcomSwitchAreOne) {
    const Topology dump = mi250();
    const Node& top = node_of(dump, "pci0");
    EXPECT_EQ(top.pci->bus_id, "0000:41:00.0");
    int crossbars = 0;
    for (const Node& node : dump.nodes()) crossbars += node.pci && node.pci->device == "0xc010";
    EXPECT_EQ(crossbars, 4) << "one per socket; the file has three";
    EXPECT_EQ(node_of(dump, "pci1").pci->bus_id, "0000:4c:00.0");
    EXPECT_EQ(find_link(dump, "pci1", "pci0", LinkKind::pci)->nccl, 12'000'000'000);
    EXPECT_NE(find_link(dump, "nic0", "pci0", LinkKind::pci), nullptr);
}

TEST(Mi250Dump, SocketsAreAFullMesh) {
    const Topology dump = mi250();
    for (int a = 0; a < 4; ++a) {
        for (int b = 0; b < 4; ++b) {
            const Link* link = find_link(dump, "cpu" + std::to_string(a), "cpu" + std::to_string(b),
                                         LinkKind::inter_socket);
            ASSERT_EQ(link != nullptr, a != b);
            if (link == nullptr) continue;
            EXPECT_EQ(link->nccl, 16'000'000'000);
        }
    }
}

TEST(Dumps, SurviveTheWayThereAndBack) {
    for (const Topology& dump : {dgx1v(), mi250()}) {
        const NcclXml xml = export_nccl_xml(dump);
        EXPECT_THAT(xml.left_out, ::testing::IsEmpty());
        EXPECT_EQ(topology_from_nccl_xml(xml.text), dump);
        EXPECT_THAT(xml.text, ::testing::Not(::testing::HasSubstr("rondo_")));
    }
}

/// Every element as a line, without the indentation, with "0.000000" written as we do.
std::multiset<std::string> element_lines(const std::string& text) {
    std::multiset<std::string> lines;
    std::istringstream input(text);
    for (std::string line; std::getline(input, line);) {
        line.erase(0, line.find_first_not_of(' '));
        if (const auto zero = line.find("0.000000"); zero != std::string::npos) {
            line.replace(zero, 8, "0");
        }
        lines.insert(line);
    }
    return lines;
}

TEST(Dumps, TheDgx1vFileComesOutElementByElement) {
    const std::string original = read_text_file(RONDO_TEST_DATA "/dgx1v_8gpu_blinkplus.xml");
    EXPECT_EQ(element_lines(topology_to_nccl_xml(dgx1v())), element_lines(original));
}

}  // namespace
}  // namespace rondo::testing
