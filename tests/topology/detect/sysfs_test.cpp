// The kernel's files as a source: trees, speeds, NICs, and files that make no sense.
#include <gmock/gmock.h>

#include "tests/topology/detect/fake_machine.hpp"
#include "topology/detect/hwloc_source.hpp"
#include "topology/detect/sysfs_source.hpp"

namespace rondo::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Sysfs : public DetectTest {
protected:
    Detection detect_by_sysfs() {
        DetectOptions alone = options();
        alone.cuda = false;
        return detect(alone);
    }
};

/// Two sockets; a GPU near the second one. hwloc's own small parser wants one blank between
/// attributes.
std::string hwloc_file() {
    const auto sets = [](int mask) {
        return fmt::format(
            "cpuset=\"0x{0:x}\" complete_cpuset=\"0x{0:x}\" nodeset=\"0x{0:x}\" "
            "complete_nodeset=\"0x{0:x}\"",
            mask);
    };
    const auto package = [&](int number, const std::string& more) {
        const std::string here = fmt::format("os_index=\"{}\" {}", number, sets(1 << number));
        return fmt::format(
            "<object type=\"Package\" {0}>\n"
            "<object type=\"NUMANode\" {0} local_memory=\"1024\"/>\n"
            "<object type=\"PU\" {0}/>\n{1}</object>\n",
            here, more);
    };
    const std::string gpu =
        "<object type=\"Bridge\" bridge_type=\"0-1\" depth=\"0\" bridge_pci=\"0000:[00-ff]\">\n"
        "<object type=\"PCIDev\" pci_busid=\"0000:03:00.0\" pci_type=\"0302 [10de:1db5] "
        "[10de:1249] a1\" pci_link_speed=\"15.75\"/>\n</object>\n";
    return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
           "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"2.0\">\n"
           "<object type=\"Machine\" os_index=\"0\" " +
           sets(3) + " allowed_cpuset=\"0x3\" allowed_nodeset=\"0x3\">\n" + package(0, "") +
           package(1, gpu) + "</object>\n</topology>";
}

TEST_F(Sysfs, ReadsADevice) {
    add_device({"0000:00:01.0"}, bridge_files(1));
    add_device({"0000:00:01.0", "0000:03:00.0"}, gpu_files(1));
    const auto facts = detection::read_sysfs(root_);
    const detection::PciDevice& gpu = facts.devices.at("0000:03:00.0");
    EXPECT_EQ(gpu.info.device_class, "0x030200");
    EXPECT_EQ(gpu.info.vendor, "0x10de");
    EXPECT_EQ(gpu.info.link_speed, "8.0 GT/s PCIe");
    EXPECT_EQ(gpu.info.link_width, 16);
    EXPECT_EQ(gpu.numa, 1);
    EXPECT_THAT(gpu.above, ElementsAre("0000:00:01.0"));
    EXPECT_THAT(facts.nics, IsEmpty());
}

TEST_F(Sysfs, TheSlowerOfSlotAndDeviceCounts) {
    Files slot = bridge_files();
    slot["max_link_speed"] = "16.0 GT/s PCIe";
    slot["max_link_width"] = "8";
    add_device({"0000:00:01.0"}, slot);
    add_device({"0000:00:01.0", "0000:03:00.0"}, gpu_files());
    const auto facts = detection::read_sysfs(root_);
    const PciInfo& info = facts.devices.at("0000:03:00.0").info;
    EXPECT_EQ(info.link_speed, "8.0 GT/s PCIe");
    EXPECT_EQ(info.link_width, 8);
}

TEST_F(Sysfs, SwitchesSocketsAndTheirBandwidths) {
    add_cpus(2, "GenuineIntel", 6, 0x8f);
    for (int numa = 0; numa < 2; ++numa) {
        const std::string root = numa == 0 ? "0000:00:01.0" : "0000:80:01.0";
        const std::string up = fmt::format("0000:{}1:00.0", numa);
        add_device({root}, bridge_files(numa));
        add_device({root, up}, bridge_files(numa));
        for (int i = 0; i < 2; ++i) {
            const std::string down = fmt::format("0000:{}2:0{}.0", numa, i);
            add_device({root, up, down}, bridge_files(numa));
            add_device({root, up, down, fmt::format("0000:{}{}:00.0", numa, 3 + i)},
                       gpu_files(numa));
        }
    }
    const Topology topology = detect_by_sysfs().topology;
    EXPECT_EQ(topology.gpu_count(), 4);
    EXPECT_EQ(link_between(topology, "gpu0", "pci0").nccl, 12'000'000'000);
    EXPECT_EQ(link_between(topology, "gpu1", "pci0").count, 1);
    EXPECT_EQ(link_between(topology, "pci0", "cpu0").count, 1);
    EXPECT_EQ(link_between(topology, "gpu2", "pci1").count, 1);
    EXPECT_EQ(link_between(topology, "cpu0", "cpu1").nccl, 22'000'000'000);
    EXPECT_TRUE(topology.peer_access(0, 1));
    EXPECT_FALSE(topology.peer_access(0, 2));
    EXPECT_EQ(topology.nodes()[topology.find_node("cpu1").value()].cpu->affinity, "ff");
}

/// Upper and lower level of one PEX crossbar, as a DGX A100 shows them.
TEST_F(Sysfs, TwoLevelsOfABroadcomSwitchAreOne) {
    Files pex = pci_files("0x060400", "0x1000");
    pex["device"] = "0xc010";
    pex["subsystem_vendor"] = "0x1000";
    pex["subsystem_device"] = "0xa096";
    const std::vector<std::string> path{"0000:00:01.0", "0000:01:00.0", "0000:02:00.0",
                                        "0000:03:00.0", "0000:04:00.0", "0000:05:00.0"};
    for (std::size_t depth = 1; depth < path.size(); ++depth) {
        add_device({path.begin(), path.begin() + depth}, depth == 1 ? bridge_files() : pex);
    }
    add_device(path, gpu_files());
    const Topology topology = detect_by_sysfs().topology;
    EXPECT_EQ(std::ranges::count(topology.nodes(), NodeType::network_switch, &Node::type), 1);
    EXPECT_EQ(link_between(topology, "gpu0", "pci0").count, 1);
}

TEST_F(Sysfs, NicsWithInfinibandAndEthernetPorts) {
    add_device({"0000:00:01.0"}, bridge_files());
    add_device({"0000:00:01.0", "0000:03:00.0"}, gpu_files());
    const auto infiniband = add_device({"0000:00:02.0"}, pci_files("0x020700", "0x15b3"));
    write(infiniband / "infiniband/mlx5_0/node_guid", "1234:5678:9abc:def0");
    write(infiniband / "infiniband/mlx5_0/ports/1/rate", "200 Gb/sec (4X HDR)");
    const auto ethernet = add_device({"0000:00:03.0"}, pci_files("0x020000", "0x8086"));
    write(ethernet / "net/eth0/speed", "25000");
    const auto virtual_nic = add_device({"0000:00:04.0"}, pci_files("0x020000", "0x1af4"));
    write(virtual_nic / "net/eth1/speed", "-1");
    add_device({"0000:00:05.0"}, pci_files("0x020000", "0x8086"));  // no driver
    const Detection detection = detect_by_sysfs();
    const Topology& topology = detection.topology;
    EXPECT_EQ(link_between(topology, "nic0", "net0").nominal, 25'000'000'000);
    EXPECT_EQ(link_between(topology, "nic1", "net1").nominal, 3'125'000'000);
    EXPECT_EQ(link_between(topology, "nic2", "net2").nominal, 1'250'000'000);
    EXPECT_EQ(topology.find_node("nic3"), std::nullopt);
    EXPECT_EQ(source_of(detection, "net0", "speed"), FactSource::sysfs);
    EXPECT_EQ(source_of(detection, "net2", "speed"), FactSource::estimate);
    const NetInfo& port = *topology.nodes()[*topology.find_node("net0")].net;
    EXPECT_EQ(port.name, "mlx5_0");
    EXPECT_EQ(port.port, 1);
    EXPECT_EQ(port.guid, "1234:5678:9abc:def0");
}

TEST_F(Sysfs, UnknownSpeedsAreEstimatedAndMarked) {
    Files unknown = gpu_files();
    unknown["max_link_speed"] = "Unknown";
    unknown["max_link_width"] = "255";
    add_device({"0000:03:00.0"}, unknown);
    const Detection detection = detect_by_sysfs();
    EXPECT_EQ(link_between(detection.topology, "gpu0", "cpu0").nccl, 12'000'000'000);
    EXPECT_EQ(source_of(detection, "gpu0", "PCI link"), FactSource::estimate);
}

TEST_F(Sysfs, OtherVendorsAreNoGpus) {
    add_device({"0000:00:02.0"}, pci_files("0x030000", "0x1a03"));
    EXPECT_THROW(detect_by_sysfs(), DetectionError);
}

TEST_F(Sysfs, KnowsTheCpusOfOtherArchitectures) {
    write("proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41");
    EXPECT_EQ(detection::read_cpus(root_).at(0).arch, "arm64");
    write("proc/cpuinfo", "processor\t: 0\ncpu\t\t: POWER9, altivec supported");
    EXPECT_EQ(detection::read_cpus(root_).at(0).arch, "ppc64");
    add_cpus(2, "AuthenticAMD", 25, 1);
    const auto cpus = detection::read_cpus(root_);
    EXPECT_THAT(cpus, SizeIs(2));
    EXPECT_EQ(cpus.at(1).vendor, "AuthenticAMD");
    EXPECT_EQ(cpus.at(1).family, 25);
    EXPECT_EQ(cpus.at(1).numa_id, 1);
}

TEST_F(Sysfs, WithOneCpuTheDomainIsNoQuestion) {
    add_device({"0000:03:00.0"}, gpu_files(-1));
    add_device({"0000:04:00.0"}, gpu_files(0));
    const Topology topology = detect_by_sysfs().topology;
    EXPECT_EQ(std::ranges::count(topology.nodes(), NodeType::cpu, &Node::type), 1);
    EXPECT_TRUE(topology.peer_access(0, 1));
}

TEST_F(Sysfs, DevicesWithoutADomainHangOnACpuOfTheirOwn) {
    add_cpus(2, "AuthenticAMD", 25, 1);
    add_device({"0000:03:00.0"}, gpu_files(-1));
    add_device({"0000:04:00.0"}, gpu_files(1));
    const Detection detection = detect_by_sysfs();
    EXPECT_EQ(source_of(detection, "cpu0", "NUMA domain"), FactSource::estimate);
    EXPECT_EQ(detection.topology.nodes()[*detection.topology.find_node("cpu0")].cpu->numa_id, -1);
    EXPECT_EQ(link_between(detection.topology, "cpu0", "cpu1").nccl, 16'000'000'000);
}

/// Firmware that forgets the domain: hwloc, here from a file, tells it.
TEST_F(Sysfs, HwlocTellsTheDomainThatTheKernelDoesNotKnow) {
    if (!detection::hwloc_available()) GTEST_SKIP() << "built without hwloc";
    add_cpus(2, "AuthenticAMD", 25, 1);
    add_device({"0000:03:00.0"}, gpu_files(-1));
    add_device({"0000:04:00.0"}, gpu_files(0));
    write("hwloc.xml", hwloc_file());
    setenv("HWLOC_XMLFILE", (root_ / "hwloc.xml").c_str(), 1);
    DetectOptions with_hwloc = options();
    with_hwloc.cuda = false;
    with_hwloc.hwloc = true;
    const Detection detection = detect(with_hwloc);
    unsetenv("HWLOC_XMLFILE");
    EXPECT_EQ(source_of(detection, "gpu0", "NUMA domain"), FactSource::hwloc);
    const Topology& topology = detection.topology;
    EXPECT_EQ(topology.nodes()[*topology.find_node("cpu0")].cpu->numa_id, 1);
    EXPECT_EQ(link_between(topology, "gpu0", "cpu0").count, 1);
    EXPECT_EQ(link_between(topology, "gpu1", "cpu1").count, 1);
}

TEST_F(Sysfs, NonsenseIsIgnored) {
    Files nonsense{{"class", "0x030200"},
                   {"vendor", "0x10de"},
                   {"device", "\x01\xff"},
                   {"subsystem_vendor", std::string(5000, 'x')},
                   {"max_link_speed", ""},
                   {"max_link_width", "many"},
                   {"numa_node", "-99999999999999999999"}};
    add_device({"0000:03:00.0"}, nonsense);
    std::filesystem::create_symlink("/nowhere", root_ / "sys/bus/pci/devices/0000:04:00.0");
    std::filesystem::create_symlink(".", root_ / "sys/bus/pci/devices/0000:05:00.0");
    write("sys/bus/pci/devices/readme", "not a device");
    write("proc/cpuinfo", std::string(100, ':') + "\nvendor_id");
    write("sys/devices/system/node/nodeX/cpumap", "ff");
    const Detection detection = detect_by_sysfs();
    EXPECT_EQ(detection.topology.gpu_count(), 1);
    EXPECT_EQ(detection.topology.nodes()[0].pci->device, "");
    EXPECT_EQ(detection.topology.nodes()[0].pci->subsystem_vendor, "");
}

}  // namespace
}  // namespace rondo::testing
