// The optional facts about nodes: where they may stand, and that JSON keeps them.
#include <gmock/gmock.h>

#include "tests/topology/builders.hpp"
#include "topology/graph/json.hpp"

namespace rondo::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// One node of every type with everything that can be known of it.
std::vector<Node> detailed_nodes() {
    Node a = gpu("a");
    a.gpu = {.model = "MI250", .memory_bytes = 1, .bus_id = "0000:4e:00.0"};
    a.gpu.rank = RankInfo{
        .device = 3, .rank = 7, .gpu_direct = false, .sm = 104, .gcn = "910", .arch = "38911"};
    a.pci = PciInfo{.device_class = "0x038000", .link_speed = "32.0 GT/s PCIe", .link_width = 0};
    Node s = a_switch("s");
    s.host = 2;
    s.pci = PciInfo{.bus_id = "0000:49:00.0",
                    .device_class = "0x060400",
                    .vendor = "0x1000",
                    .device = "0xc010",
                    .subsystem_vendor = "0x1000",
                    .subsystem_device = "0xa096",
                    .link_speed = "16.0 GT/s PCIe",
                    .link_width = 16};
    Node c = cpu("c");
    c.cpu = CpuInfo{.numa_id = -1,
                    .affinity = "ffff,0000",
                    .arch = "x86_64",
                    .vendor = "  Shanghai  ",
                    .family = 7,
                    .model = 0x5b,
                    .host_hash = "0xabc"};
    Node n = nic("n");
    n.net = NetInfo{.device = 1,
                    .name = "mlx5_0",
                    .guid = "0xd041bb0003f6ceb8",
                    .port = 1,
                    .max_connections = 262'144,
                    .gpu_direct = 1,
                    .collectives = 0,
                    .gin = 1,
                    .rma = 2,
                    .rail = 3,
                    .plane = -4};
    return {a, s, c, n};
}

std::string error_with_nodes(std::vector<Node> nodes) {
    return error_of([&] { Topology("box", std::move(nodes), {}); });
}

std::string error_in_node(const std::string& node) {
    return error_of([&] {
        topology_from_json(R"({"schema": 2, "name": "x", "links": [], "nodes": [)" + node + "]}");
    });
}

TEST(Details, SurviveJson) {
    const Topology topology("box", detailed_nodes(), {});
    EXPECT_EQ(topology_from_json(topology_to_json(topology)), topology);
}

TEST(Details, EveryFieldCounts) {
    // Each field changed alone must make a different value and a different text.
    const Topology original("box", detailed_nodes(), {});
    const std::string text = topology_to_json(original);
    for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
             {"\"device\": 3", "\"device\": 4"},
             {"\"rank\": 7", "\"rank\": 8"},
             {"\"gpu_direct\": false", "\"gpu_direct\": true"},
             {"\"sm\": 104", "\"sm\": 90"},
             {"\"gcn\": \"910\"", "\"gcn\": \"908\""},
             {"\"arch\": \"38911\"", "\"arch\": \"1\""},
             {"\"class\": \"0x038000\"", "\"class\": \"0x030000\""},
             {"\"link_width\": 0", "\"link_width\": 8"},
             {"\"host\": 2", "\"host\": 3"},
             {"0000:49", "0000:50"},
             {"\"device\": \"0xc010\"", "\"device\": \"0xc030\""},
             {"\"subsystem_device\": \"0xa096\"", "\"subsystem_device\": \"0\""},
             {"\"numa_id\": -1", "\"numa_id\": 0"},
             {"ffff,0000", "ffff,ffff"},
             {"  Shanghai  ", "CentaurHauls"},
             {"\"family\": 7", "\"family\": 6"},
             {"\"model\": 91", "\"model\": 92"},
             {"0xabc", "0xabd"},
             {"mlx5_0", "mlx5_1"},
             {"0xd041bb0003f6ceb8", "0x0"},
             {"\"port\": 1", "\"port\": 2"},
             {"262144", "1"},
             {"\"gpu_direct\": 1", "\"gpu_direct\": 0"},
             {"\"collectives\": 0", "\"collectives\": 1"},
             {"\"gin\": 1", "\"gin\": 0"},
             {"\"rma\": 2", "\"rma\": 0"},
             {"\"rail\": 3", "\"rail\": 0"},
             {"\"plane\": -4", "\"plane\": 0"}}) {
        std::string changed = text;
        const auto position = changed.find(from);
        ASSERT_NE(position, std::string::npos) << from;
        changed.replace(position, from.size(), to);
        const Topology other = topology_from_json(changed);
        EXPECT_NE(other, original) << from;
        EXPECT_EQ(topology_to_json(other), changed) << from;
    }
}

TEST(Details, BelongToTheirTypeOfNode) {
    Node wrong = cpu("c");
    wrong.pci = PciInfo{};
    EXPECT_THAT(error_with_nodes({gpu("a"), wrong}), HasSubstr("a cpu is not a PCI device"));
    wrong = nic("n");
    wrong.cpu = CpuInfo{};
    EXPECT_THAT(error_with_nodes({gpu("a"), wrong}), HasSubstr("only a cpu"));
    wrong = gpu("g");
    wrong.net = NetInfo{};
    EXPECT_THAT(error_with_nodes({wrong}), HasSubstr("only a nic"));
    wrong = a_switch("s");
    wrong.gpu.rank = RankInfo{};
    EXPECT_THAT(error_with_nodes({gpu("a"), wrong}), HasSubstr("only a gpu"));
}

TEST(Details, AGpuHasOneBusId) {
    Node node = gpu("a");
    node.pci = PciInfo{.bus_id = "0000:01:00.0"};
    EXPECT_THAT(error_with_nodes({node}), HasSubstr("a gpu has its bus id"));
}

TEST(Details, OnlyAmdHasAnSmBesideItsGcn) {
    Node node = gpu("a");
    node.gpu.rank = RankInfo{.sm = 70};
    EXPECT_THAT(error_with_nodes({node}), HasSubstr("gcn"));
}

TEST(Details, BusIdsAreUniqueInAHostAcrossTypes) {
    Node first = gpu("a");
    first.gpu.bus_id = "0000:01:00.0";
    Node second = nic("n");
    second.pci = PciInfo{.bus_id = "0000:01:00.0"};
    EXPECT_THAT(error_with_nodes({first, second}), HasSubstr("already used by node 0"));
    second.host = 1;
    EXPECT_NO_THROW(Topology("box", {first, second}, {}));
    second.pci->bus_id = "slot 1";
    EXPECT_THAT(error_with_nodes({first, second}), HasSubstr("\"slot 1\""));
}

TEST(Details, TextsArePrintableAndShort) {
    Node node = cpu("c");
    node.cpu = CpuInfo{.affinity = std::string(254, 'f')};
    EXPECT_THAT(error_with_nodes({gpu("a"), node}), HasSubstr("length of the affinity is 254"));
    node.cpu->affinity = "\xff";
    EXPECT_THAT(error_with_nodes({gpu("a"), node}),
                AllOf(HasSubstr("affinity"), HasSubstr("UTF-8")));
    for (const char* bad : {"\x80", "\xc3", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80",
                            "\xf4\x90\x80\x80", "\xf0\x8f\xbf\xbf", "\xe2\x82"}) {
        EXPECT_THAT(error_with_nodes({gpu(bad)}), HasSubstr("UTF-8"));
    }
    EXPECT_NO_THROW(Topology("box", {gpu("\u00e4\u20ac\U0001F600")}, {}));
}

TEST(Details, HostsAreNumbersFromZero) {
    for (const int host : {-1, 4096}) {
        Node node = gpu("a");
        node.host = host;
        EXPECT_THAT(error_with_nodes({node}), HasSubstr("the host is " + std::to_string(host)));
    }
}

TEST(Details, JsonIsAsStrictInsideAsOutside) {
    EXPECT_THAT(error_in_node(R"({"id": "a", "type": "gpu", "pci": {"width": 16}})"),
                HasSubstr("/nodes/0/pci: unknown key \"width\""));
    EXPECT_THAT(error_in_node(R"({"id": "a", "type": "gpu", "pci": {"link_width": "16"}})"),
                HasSubstr("/nodes/0/pci/link_width: expected an integer"));
    EXPECT_THAT(error_in_node(R"({"id": "a", "type": "gpu", "nccl": {"device": 1, "rank": 1}})"),
                HasSubstr("/nodes/0/nccl: the key \"gpu_direct\" is missing"));
    EXPECT_THAT(error_in_node(R"({"id": "a", "type": "cpu", "pci": {}})"),
                HasSubstr("/nodes/0 (\"a\"): unknown key \"pci\""));
    EXPECT_THAT(error_in_node(R"({"id": "a", "type": "cpu", "cpu": []})"),
                HasSubstr("/nodes/0/cpu: expected an object"));
    EXPECT_THAT(error_in_node(R"({"id": "a", "type": "gpu", "host": 99999999999})"),
                HasSubstr("/nodes/0/host"));
}

}  // namespace
}  // namespace rondo::testing
