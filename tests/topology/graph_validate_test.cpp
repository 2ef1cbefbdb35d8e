// Every rule of a valid topology, and that the message names the element that breaks it.
#include <gmock/gmock.h>

#include <limits>

#include "tests/topology/builders.hpp"
#include "topology/graph/validate.hpp"

namespace rondo::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string error_with(std::vector<Node> nodes, std::vector<Link> links = {}) {
    return error_of([&] { Topology("box", std::move(nodes), std::move(links)); });
}

std::string error_with_link(Link link) {
    return error_with({gpu("a"), gpu("b")}, {link});
}

std::string error_with_gpu(GpuInfo info) {
    Node node = gpu("a");
    node.gpu = std::move(info);
    return error_with({node});
}

Link good_link() {
    return one_way(0, 1, LinkKind::nvlink);
}

TEST(Validate, OneGpuWithoutLinksIsATopology) {
    const Topology topology("box", {gpu("a")}, {});
    EXPECT_EQ(topology.gpu_count(), 1);
    EXPECT_EQ(topology.name(), "box");
}

TEST(Validate, ATopologyNeedsAGpu) {
    EXPECT_THAT(error_with({}), AllOf(HasSubstr("\"box\""), HasSubstr("no gpu")));
    EXPECT_THAT(error_with({cpu("c"), a_switch("s")}), HasSubstr("no gpu"));
}

TEST(Validate, IdsAreUniqueAndNotEmpty) {
    EXPECT_THAT(error_with({gpu("a"), cpu("b"), a_switch("a")}),
                AllOf(HasSubstr("node 2 (switch \"a\")"), HasSubstr("node 0 (gpu \"a\")")));
    EXPECT_THAT(error_with({gpu("a"), gpu("")}), AllOf(HasSubstr("node 1"), HasSubstr("empty")));
}

TEST(Validate, IdsArePrintableAndShort) {
    EXPECT_THAT(error_with({gpu("a\nb")}), HasSubstr("control character"));
    EXPECT_THAT(error_with({gpu(std::string(254, 'x'))}), HasSubstr("length of the id is 254"));
    EXPECT_NO_THROW(Topology("box", {gpu(std::string(253, 'x'))}, {}));
}

TEST(Validate, NodeTypesAreKnown) {
    EXPECT_THAT(error_with({gpu("a"), make_node("odd", static_cast<NodeType>(9))}),
                AllOf(HasSubstr("\"odd\""), HasSubstr("node type")));
}

TEST(Validate, SizesAreBounded) {
    std::vector<Node> gpus;
    for (int i = 0; i < 1025; ++i) gpus.push_back(gpu("g" + std::to_string(i)));
    EXPECT_THAT(error_with(gpus), HasSubstr("number of gpus is 1025"));
    std::vector<Node> nodes{gpu("g")};
    for (int i = 0; i < 16384; ++i) nodes.push_back(cpu("c" + std::to_string(i)));
    EXPECT_THAT(error_with(nodes), HasSubstr("number of nodes is 16385"));
    const std::vector<Link> links(TopologyLimits::links + 1, good_link());
    EXPECT_THAT(error_with({gpu("a"), gpu("b")}, links), HasSubstr("number of links is 1048577"));
}

TEST(Validate, GpuFactsBelongToGpus) {
    Node node = cpu("c");
    node.gpu.model = "V100";
    EXPECT_THAT(error_with({gpu("a"), node}), HasSubstr("node 1 (cpu \"c\")"));
}

TEST(Validate, GpuFactsAreInRange) {
    EXPECT_THAT(error_with_gpu({.compute_major = -1}), HasSubstr("compute capability -1.0"));
    EXPECT_THAT(error_with_gpu({.compute_major = 100}), HasSubstr("compute capability 100.0"));
    EXPECT_THAT(error_with_gpu({.compute_major = 7, .compute_minor = 10}), HasSubstr("7.10"));
    EXPECT_THAT(error_with_gpu({.compute_minor = 5}), HasSubstr("0.5"));
    EXPECT_THAT(error_with_gpu({.memory_bytes = (1ULL << 50) + 1}), HasSubstr("memory in bytes"));
    EXPECT_THAT(error_with_gpu({.model = "P100\x01"}), HasSubstr("the model"));
}

TEST(Validate, BusIdsAreWellFormedAndUnique) {
    for (const char* good : {"0000:06:00.0", "00000000:8A:1f.7", "0012:ff:00.0"}) {
        EXPECT_TRUE(is_bus_id(good)) << good;
    }
    for (const char* bad : {"", "06:00.0", "0000:06:00", "0000:06:00.00", "0000:g6:00.0",
                            "0000-06-00.0", "000000000:06:00.0", "0000:06:00:0"}) {
        EXPECT_FALSE(is_bus_id(bad)) << bad;
    }
    EXPECT_THAT(error_with_gpu({.bus_id = "first slot"}), HasSubstr("\"first slot\""));
    Node first = gpu("a");
    Node second = gpu("b");
    first.gpu.bus_id = second.gpu.bus_id = "0000:06:00.0";
    EXPECT_THAT(error_with({first, second}),
                AllOf(HasSubstr("node 1 (gpu \"b\")"), HasSubstr("already used by node 0")));
}

TEST(Validate, EndpointsExist) {
    Link link = good_link();
    link.target = 2;
    EXPECT_THAT(error_with_link(link), HasSubstr("link 0 (a -> #2, NVL): there is no node #2"));
    link = good_link();
    link.source = -1;
    EXPECT_THAT(error_with_link(link), HasSubstr("no node #-1"));
}

TEST(Validate, NoNodeIsLinkedToItself) {
    EXPECT_THAT(error_with_link(one_way(1, 1, LinkKind::pci)),
                AllOf(HasSubstr("link 0 (b -> b, PCI)"), HasSubstr("itself")));
}

TEST(Validate, CountsArePositive) {
    for (const int count : {0, -1, std::numeric_limits<int>::min(), 65'537}) {
        Link link = good_link();
        link.count = count;
        EXPECT_THAT(error_with_link(link), HasSubstr("the count is " + std::to_string(count)));
    }
}

TEST(Validate, BandwidthsArePositiveAndBounded) {
    for (const std::int64_t bandwidth :
         {std::int64_t{0}, std::int64_t{-5}, TopologyLimits::bandwidth + 1,
          std::numeric_limits<std::int64_t>::max()}) {
        Link link = good_link();
        link.nominal = bandwidth;
        EXPECT_THAT(error_with_link(link),
                    AllOf(HasSubstr("link 0 (a -> b, NVL)"), HasSubstr("nominal"),
                          HasSubstr(" is " + std::to_string(bandwidth))));
        link = good_link();
        link.nccl = bandwidth;
        EXPECT_THAT(error_with_link(link), HasSubstr("NCCL-model"));
    }
}

TEST(Validate, LatenciesAreNumbersFromZero) {
    for (const double latency : {-0.5, std::numeric_limits<double>::quiet_NaN(),
                                 std::numeric_limits<double>::infinity(), 2e9}) {
        Link link = good_link();
        link.latency_us = latency;
        EXPECT_THAT(error_with_link(link), HasSubstr("latency"));
    }
    Link link = good_link();
    link.latency_us = 0;
    EXPECT_NO_THROW(Topology("box", {gpu("a"), gpu("b")}, {link}));
}

TEST(Validate, LinkKindsAreKnown) {
    EXPECT_THAT(error_with_link(one_way(0, 1, static_cast<LinkKind>(17))), HasSubstr("link kind"));
}

TEST(Validate, ParallelLinksAreOneBundle) {
    EXPECT_THAT(error_with({gpu("a"), gpu("b")}, {good_link(), good_link()}),
                AllOf(HasSubstr("link 1 (a -> b, NVL)"), HasSubstr("repeats link 0")));
    EXPECT_NO_THROW(
        Topology("box", {gpu("a"), gpu("b")},
                 {good_link(), one_way(0, 1, LinkKind::pci), one_way(1, 0, LinkKind::nvlink)}));
}

TEST(TopologyValue, NumbersGpusInNodeOrder) {
    const Topology topology("box", {cpu("c"), gpu("y"), nic("n"), gpu("x")}, {});
    EXPECT_EQ(topology.gpu_count(), 2);
    EXPECT_EQ(topology.gpu_node(0), 1);
    EXPECT_EQ(topology.gpu_node(1), 3);
    EXPECT_THROW(topology.gpu_node(2), std::out_of_range);
    EXPECT_EQ(topology.find_node("x"), 3);
    EXPECT_EQ(topology.find_node("z"), std::nullopt);
}

}  // namespace
}  // namespace rondo::testing
