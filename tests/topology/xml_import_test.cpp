// What becomes of each element of NCCL's file.
#include <gmock/gmock.h>

#include "tests/topology/builders.hpp"
#include "tests/topology/compare.hpp"
#include "topology/xml/nccl_xml.hpp"

namespace rondo::testing {
namespace {

constexpr std::int64_t giga = 1'000'000'000;

constexpr const char* intel_cpu =
    R"(arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85")";

std::string pci(const std::string& bus_id, const std::string& inside,
                const std::string& device_class = "0x030200",
                const std::string& link = R"(link_speed="8 GT/s" link_width="16")") {
    return "<pci busid=\"" + bus_id + "\" class=\"" + device_class + "\" " + link + ">" + inside +
           "</pci>\n";
}

std::string gpu_at(int number, const std::string& links = "", const std::string& sm = "70") {
    const std::string text = std::to_string(number);
    return pci("0000:0" + text + ":00.0", "<gpu dev=\"" + text + "\" sm=\"" + sm + "\" rank=\"" +
                                              text + "\" gdr=\"1\">" + links + "</gpu>");
}

std::string nvlink(const std::string& target, int count, const std::string& target_class) {
    return "<nvlink target=\"" + target + "\" count=\"" + std::to_string(count) + "\" tclass=\"" +
           target_class + "\"/>";
}

std::string one_cpu(const std::string& inside, const std::string& attributes = intel_cpu) {
    return "<system version=\"1\"><cpu numaid=\"0\" " + attributes + ">\n" + inside +
           "</cpu></system>";
}

Topology with_gpus(const std::string& inside) {
    return topology_from_nccl_xml(one_cpu(inside));
}

TEST(XmlImport, TheSmallestFile) {
    const Topology topology = with_gpus(gpu_at(1));
    EXPECT_EQ(topology.name(), "nccl");
    EXPECT_EQ(topology.gpu_count(), 1);
    EXPECT_TRUE(topology.pci_peer_access());
    ASSERT_EQ(topology.links().size(), 2u);
    EXPECT_EQ(find_link(topology, "gpu0", "cpu0", LinkKind::pci)->nccl, 12 * giga);
    EXPECT_EQ(find_link(topology, "cpu0", "gpu0", LinkKind::pci)->nominal, 15'754'000'000);
}

TEST(XmlImport, TheNameOfTheSystem) {
    EXPECT_EQ(topology_from_nccl_xml("<system version=\"1\" name=\"my box\"><cpu numaid=\"0\" " +
                                     std::string(intel_cpu) + ">" + gpu_at(1) + "</cpu></system>")
                  .name(),
              "my box");
}

TEST(XmlImport, PrologCommentsAndUnknownElementsAreIgnored) {
    const Topology plain = with_gpus(gpu_at(1));
    const Topology noisy = topology_from_nccl_xml(
        "<?xml version=\"1.0\"?><!-- c -->" + one_cpu("<!-- d --><fan speed=\"9\"><gpu/></fan>" +
                                                      gpu_at(1, "<!-- e --><odd/>") + "text"));
    EXPECT_EQ(noisy, plain);
}

TEST(XmlImport, GpusAreNumberedByDevice) {
    const Topology topology = with_gpus(gpu_at(5) + gpu_at(2) + gpu_at(3));
    EXPECT_EQ(node_of(topology, "gpu0").gpu.bus_id, "0000:02:00.0");
    EXPECT_EQ(node_of(topology, "gpu2").gpu.bus_id, "0000:05:00.0");
    EXPECT_EQ(node_of(topology, "gpu2").gpu.rank, (RankInfo{.device = 5, .rank = 5}));
}

TEST(XmlImport, GpusWithoutRankAreSkipped) {
    const Topology topology =
        with_gpus(gpu_at(0) + pci("0000:09:00.0", "<gpu dev=\"1\" sm=\"70\" gdr=\"1\"/>") +
                  pci("0000:0a:00.0", ""));
    EXPECT_EQ(topology.gpu_count(), 1);
    EXPECT_EQ(topology.nodes().size(), 2u);
}

TEST(XmlImport, AFileThatNcclHasNotFilledInYetStillHasItsGpus) {
    const Topology topology =
        with_gpus(pci("0001:00:00.0", "") + pci("0002:00:00.0", "", "0x020700") +
                  pci("0003:00:00.0", "<gpu/>"));
    ASSERT_EQ(topology.gpu_count(), 2);
    EXPECT_EQ(node_of(topology, "gpu1").gpu.bus_id, "0003:00:00.0");
    EXPECT_EQ(node_of(topology, "gpu1").gpu.compute_major, 0);
    EXPECT_EQ(node_of(topology, "gpu1").gpu.rank, std::nullopt);
}

TEST(XmlImport, ComputeCapabilities) {
    const Topology topology = with_gpus(gpu_at(0, "", "61") + gpu_at(1, "", "120"));
    EXPECT_EQ(node_of(topology, "gpu0").gpu.compute_major, 6);
    EXPECT_EQ(node_of(topology, "gpu0").gpu.compute_minor, 1);
    EXPECT_EQ(node_of(topology, "gpu1").gpu.compute_major, 12);
}

TEST(XmlImport, AnNvlinkToAGpuIsOneDirection) {
    const Topology topology =
        with_gpus(gpu_at(0, nvlink("0000:01:00.0", 2, "0x030200")) + gpu_at(1));
    EXPECT_EQ(find_link(topology, "gpu0", "gpu1", LinkKind::nvlink)->nccl, 40 * giga);
    EXPECT_EQ(find_link(topology, "gpu0", "gpu1", LinkKind::nvlink)->count, 2);
    EXPECT_EQ(find_link(topology, "gpu1", "gpu0", LinkKind::nvlink), nullptr);
}

TEST(XmlImport, ParallelNvlinksAddUp) {
    const Topology topology = with_gpus(
        gpu_at(0, nvlink("0000:01:00.0", 2, "0x030200") + nvlink("0000:01:00.0", 1, "0x030200")) +
        gpu_at(1));
    EXPECT_EQ(find_link(topology, "gpu0", "gpu1", LinkKind::nvlink)->count, 3);
    EXPECT_EQ(find_link(topology, "gpu0", "gpu1", LinkKind::nvlink)->nominal, 75 * giga);
}

TEST(XmlImport, BusIdsAreComparedInLowerCase) {
    const Topology topology =
        with_gpus(gpu_at(0, nvlink("0000:0A:00.0", 1, "0x030200")) +
                  pci("0000:0a:00.0", R"(<gpu dev="1" sm="70" rank="1" gdr="1"/>)"));
    EXPECT_NE(find_link(topology, "gpu0", "gpu1", LinkKind::nvlink), nullptr);
}

TEST(XmlImport, NvlinksToGpusOutsideTheFileAreIgnored) {
    const Topology topology = with_gpus(gpu_at(0, nvlink("0000:77:00.0", 1, "0x030200")));
    EXPECT_EQ(topology.links().size(), 2u);
}

TEST(XmlImport, AllNvswitchesAreOne) {
    const std::string links =
        nvlink("0000:c0:00.0", 2, "0x068000") + nvlink("0000:c1:00.0", 2, "0x068000");
    const Topology topology = with_gpus(gpu_at(0, links, "80") +
                                        gpu_at(1, nvlink("fffffff:ffff:ff", 4, "0x068000"), "80"));
    EXPECT_EQ(node_of(topology, "nvs").type, NodeType::network_switch);
    for (const char* gpu : {"gpu0", "gpu1"}) {
        EXPECT_EQ(find_link(topology, gpu, "nvs", LinkKind::nvlink)->count, 4);
        EXPECT_EQ(find_link(topology, gpu, "nvs", LinkKind::nvlink)->nccl, 80 * giga);
        EXPECT_EQ(find_link(topology, "nvs", gpu, LinkKind::nvlink)->nominal, 100 * giga);
    }
    EXPECT_TRUE(topology.peer_access(0, 1));
}

TEST(XmlImport, AnNvlinkBridgeLeadsToTheCpu) {
    const Topology topology = topology_from_nccl_xml(
        one_cpu(gpu_at(0, nvlink("0004:04:00.0", 3, "0x068001")), "arch=\"ppc64\""));
    EXPECT_EQ(find_link(topology, "gpu0", "cpu0", LinkKind::nvlink)->nccl, 60 * giga);
    EXPECT_EQ(find_link(topology, "cpu0", "gpu0", LinkKind::nvlink)->count, 3);
}

TEST(XmlImport, XgmiFollowsTheGcn) {
    const auto gcd = [](int number, const std::string& gcn, const std::string& links) {
        const std::string text = std::to_string(number);
        return pci("0000:0" + text + ":00.0", "<gpu dev=\"" + text + "\" sm=\"94\" gcn=\"" + gcn +
                                                  "\" rank=\"" + text + "\" gdr=\"1\">" + links +
                                                  "</gpu>");
    };
    const Topology topology =
        with_gpus(gcd(0, "gfx942", R"(<xgmi target="0000:01:00.0" count="1" tclass="0x038000"/>)") +
                  gcd(1, "gfx906", R"(<xgmi target="0000:00:00.0" count="2" tclass="0x038000"/>)"));
    EXPECT_EQ(find_link(topology, "gpu0", "gpu1", LinkKind::xgmi)->nccl, 48 * giga);
    EXPECT_EQ(find_link(topology, "gpu1", "gpu0", LinkKind::xgmi)->nccl, 48 * giga);
    EXPECT_EQ(node_of(topology, "gpu0").gpu.rank->sm, 94);
}

TEST(XmlImport, C2cJoinsAGpuAndItsCpu) {
    const Topology topology = topology_from_nccl_xml(
        one_cpu(gpu_at(0, "<c2c bw=\"44712\" count=\"10\"/>", "90"), "arch=\"arm64\""));
    const Link* link = find_link(topology, "cpu0", "gpu0", LinkKind::chip_to_chip);
    ASSERT_NE(link, nullptr);
    EXPECT_EQ(link->nccl, 447'120'000'000);
    EXPECT_EQ(link->count, 10);
    EXPECT_NE(find_link(topology, "gpu0", "cpu0", LinkKind::chip_to_chip), nullptr);
}

TEST(XmlImport, SwitchesNest) {
    const Topology topology =
        with_gpus(pci("0000:10:00.0", pci("0000:11:00.0", gpu_at(0), "0x060400"), "0x060400",
                      R"(link_speed="16.0 GT/s PCIe" link_width="8")"));
    EXPECT_EQ(node_of(topology, "pci0").pci->bus_id, "0000:10:00.0");
    EXPECT_EQ(find_link(topology, "pci0", "cpu0", LinkKind::pci)->nccl, 12 * giga);
    EXPECT_NE(find_link(topology, "pci1", "pci0", LinkKind::pci), nullptr);
    EXPECT_NE(find_link(topology, "gpu0", "pci1", LinkKind::pci), nullptr);
}

TEST(XmlImport, DevicesThatAreNeitherSwitchNorGpuNorNicAreLeftOut) {
    const Topology topology = with_gpus(gpu_at(0) + pci("0000:20:00.0", "", "0x020000") +
                                        pci("0000:21:00.0", gpu_at(1), "0x068000"));
    EXPECT_EQ(topology.nodes().size(), 2u);
}

TEST(XmlImport, LinksBetweenPciSwitches) {
    const Topology topology = with_gpus(
        pci("0000:10:00.0",
            gpu_at(0) + "<pcilink target=\"0000:20:00.0\"/><pcilink target=\"0000:10:00.0\"/>",
            "0x060400") +
        pci("0000:20:00.0", gpu_at(1) + "<pcilink target=\"0000:77:00.0\"/>", "0x060400"));
    EXPECT_EQ(find_link(topology, "pci0", "pci1", LinkKind::pci)->nccl, 5000 * giga);
    EXPECT_EQ(find_link(topology, "pci1", "pci0", LinkKind::pci), nullptr);
}

TEST(XmlImport, PortsOfNics) {
    const Topology topology = with_gpus(
        gpu_at(0) +
        pci("0000:30:00.0",
            R"(<nic><net name="mlx5_0" dev="0" speed="200000" port="1" latency="2.5" guid="0xa"
                     maxconn="8" gdr="1" coll="1" rail="3" plane="0x10"/>
                <net name="hidden" speed="1"/><net dev="7" net="0"/><gin dev="8"/>
                <net dev="9" speed="-1"/></nic>)",
            "0x020700", R"(link_speed="32 GT/s" link_width="16")"));
    EXPECT_EQ(find_link(topology, "nic0", "cpu0", LinkKind::pci)->nccl, 48 * giga);
    EXPECT_EQ(find_link(topology, "nic0", "net0", LinkKind::network)->nccl, 25 * giga);
    EXPECT_EQ(find_link(topology, "net0", "nic0", LinkKind::network)->latency_us, 2.5);
    EXPECT_EQ(node_of(topology, "net0").net, (NetInfo{.device = 0,
                                                      .name = "mlx5_0",
                                                      .guid = "0xa",
                                                      .port = 1,
                                                      .max_connections = 8,
                                                      .gpu_direct = 1,
                                                      .collectives = 1,
                                                      .rail = 3,
                                                      .plane = 16}));
    EXPECT_EQ(node_of(topology, "net1").net->device, 9);
    EXPECT_EQ(find_link(topology, "net1", "nic0", LinkKind::network)->nccl, 1'250'000'000);
    EXPECT_EQ(topology.find_node("net2"), std::nullopt);
}

std::string cpu_element(const std::string& attributes, const std::string& inside) {
    return "<cpu " + attributes + " " + intel_cpu + ">" + inside + "</cpu>\n";
}

TEST(XmlImport, EachCpuHasItsOwnBandwidthToTheOthers) {
    const Topology topology = topology_from_nccl_xml(
        "<system version=\"1\">" + cpu_element("numaid=\"0\"", gpu_at(0)) +
        "<cpu numaid=\"1\" arch=\"x86_64\" vendor=\"AuthenticAMD\"/></system>");
    EXPECT_EQ(find_link(topology, "cpu0", "cpu1", LinkKind::inter_socket)->nccl, 10 * giga);
    EXPECT_EQ(find_link(topology, "cpu1", "cpu0", LinkKind::inter_socket)->nccl, 16 * giga);
}

TEST(XmlImport, HostsAreToldApartByTheirHash) {
    const Topology topology = topology_from_nccl_xml(
        "<system version=\"1\">" +
        cpu_element("numaid=\"0\" host_hash=\"0xa\"",
                    gpu_at(0, nvlink("0000:00:00.0", 1, "0x068000"), "100")) +
        cpu_element("numaid=\"1\" host_hash=\"0xa\"", "") +
        cpu_element("numaid=\"0\" host_hash=\"0xb\"",
                    pci("0000:00:00.0", R"(<gpu dev="0" sm="100" rank="1" gdr="1">)" +
                                            nvlink("0000:00:00.0", 1, "0x068000") + "</gpu>")) +
        "</system>");
    EXPECT_EQ(node_of(topology, "gpu1").host, 1);
    EXPECT_EQ(node_of(topology, "gpu1").gpu.rank, std::nullopt) << "device 0 of its host, rank 1";
    EXPECT_EQ(node_of(topology, "cpu2").host, 1);
    EXPECT_EQ(node_of(topology, "cpu2").cpu->host_hash, "0xb");
    EXPECT_NE(find_link(topology, "cpu0", "cpu1", LinkKind::inter_socket), nullptr);
    EXPECT_EQ(find_link(topology, "cpu0", "cpu2", LinkKind::inter_socket), nullptr);
    EXPECT_TRUE(topology.peer_access(0, 1)) << "NVLink reaches across hosts";
}

TEST(XmlImport, NumaIdsMayBeUnknown) {
    const Topology topology = topology_from_nccl_xml(
        "<system version=\"1\">" + cpu_element("numaid=\"-1\"", gpu_at(0)) + "</system>");
    EXPECT_EQ(node_of(topology, "cpu0").cpu->numa_id, -1);
}

}  // namespace
}  // namespace rondo::testing
