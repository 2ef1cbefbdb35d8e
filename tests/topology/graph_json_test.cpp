// The JSON schema: what is read, what is written, and what every kind of mistake is answered with.
#include "topology/graph/json.hpp"

#include <gmock/gmock.h>

#include "tests/topology/builders.hpp"
#include "topology/graph/text_file.hpp"

namespace rondo::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* small = R"({
  "schema": 2,
  "name": "pair",
  "description": "two GPUs",
  "sources": ["the label"],
  "pci_peer_access": false,
  "nodes": [
    {"id": "a", "type": "gpu", "model": "V100", "compute_capability": "7.0", "memory_GiB": 15.5,
     "bus_id": "0000:06:00.0"},
    {"id": "b", "type": "gpu"},
    {"id": "s", "type": "switch"}, {"id": "c", "type": "cpu"}, {"id": "n", "type": "nic"}
  ],
  "links": [
    {"src": "a", "dst": "b", "kind": "NVL", "count": 2, "GBps": 50, "GBps_nccl": 41.2,
     "latency_us": 0.7},
    {"src": "b", "dst": "s", "kind": "MEM", "GBps": 0.000000001}
  ]
})";

/// `small` with the first occurrence of `from` replaced.
std::string with(std::string_view from, std::string_view to) {
    std::string text = small;
    const auto position = text.find(from);
    EXPECT_NE(position, std::string::npos) << from;
    return text.replace(position, from.size(), to);
}

std::string error_in(const std::string& text) {
    return error_of([&] { topology_from_json(text); });
}

TEST(Json, ReadsEveryKey) {
    const Topology topology = topology_from_json(small);
    EXPECT_EQ(topology.name(), "pair");
    EXPECT_EQ(topology.description(), "two GPUs");
    EXPECT_EQ(topology.sources(), std::vector<std::string>{"the label"});
    EXPECT_FALSE(topology.pci_peer_access());
    ASSERT_EQ(topology.nodes().size(), 5u);
    EXPECT_EQ(topology.nodes()[0].gpu, (GpuInfo{.model = "V100",
                                                .compute_major = 7,
                                                .compute_minor = 0,
                                                .memory_bytes = 16'642'998'272,
                                                .bus_id = "0000:06:00.0"}));
    EXPECT_EQ(topology.nodes()[1].gpu, GpuInfo{});
    EXPECT_EQ(topology.nodes()[2].type, NodeType::network_switch);
    EXPECT_EQ(topology.nodes()[3].type, NodeType::cpu);
    EXPECT_EQ(topology.nodes()[4].type, NodeType::nic);
    ASSERT_EQ(topology.links().size(), 2u);
    const Link& link = topology.links()[0];
    EXPECT_EQ(link.source, 0);
    EXPECT_EQ(link.target, 1);
    EXPECT_EQ(link.kind, LinkKind::nvlink);
    EXPECT_EQ(link.count, 2);
    EXPECT_EQ(link.bandwidth(BandwidthModel::nominal), 50'000'000'000);
    EXPECT_EQ(link.bandwidth(BandwidthModel::nccl), 41'200'000'000);
    EXPECT_EQ(link.latency_us, 0.7);
}

TEST(Json, TheExampleInTheDocumentationIsValid) {
    const std::string page = read_text_file(RONDO_DOCS "/topology-schema.md");
    const std::string fence = "```json\n";
    const auto begin = page.find(fence) + fence.size();
    const Topology topology =
        topology_from_json(page.substr(begin, page.find("```", begin) - begin));
    EXPECT_EQ(topology.name(), "pair");
    EXPECT_TRUE(topology.peer_access(0, 1));
}

TEST(Json, DefaultsAreOneLinkNoLatencyAndTheNominalBandwidth) {
    const Link link = topology_from_json(small).links()[1];
    EXPECT_EQ(link.kind, LinkKind::memory);
    EXPECT_EQ(link.count, 1);
    EXPECT_EQ(link.nominal, 1);
    EXPECT_EQ(link.nccl, 1);
    EXPECT_EQ(link.latency_us, std::nullopt);
}

TEST(Json, EveryLinkKindHasItsWord) {
    const std::vector<std::pair<std::string, LinkKind>> words{
        {"NVL", LinkKind::nvlink},       {"XGMI", LinkKind::xgmi},   {"PCI", LinkKind::pci},
        {"SYS", LinkKind::inter_socket}, {"NET", LinkKind::network}, {"MEM", LinkKind::memory}};
    for (const auto& [word, kind] : words) {
        const Topology topology = topology_from_json(with("\"NVL\"", "\"" + word + "\""));
        EXPECT_EQ(topology.links()[0].kind, kind);
        EXPECT_THAT(topology_to_json(topology), HasSubstr("\"kind\": \"" + word + "\""));
    }
}

TEST(Json, SurvivesTheWayThereAndBack) {
    const Topology topology = topology_from_json(small);
    const std::string text = topology_to_json(topology);
    EXPECT_EQ(topology_from_json(text), topology);
    EXPECT_EQ(topology_to_json(topology_from_json(text)), text);
}

TEST(Json, StrangeNumbersAndTextsSurviveToo) {
    Node node = gpu("\"\\ \u00fc");
    node.gpu.memory_bytes = (std::uint64_t{1} << 50) - 1;
    node.gpu.model = "</a>&";
    Link link = one_way(0, 1, LinkKind::network);
    link.nominal = 99'999'999'999'999;
    link.nccl = 1;
    link.latency_us = 0.1 + 0.2;
    Topology topology("na\nme\t\u20ac", {node, gpu("b")}, {link});
    topology.set_description("line\nline");
    EXPECT_EQ(topology_from_json(topology_to_json(topology)), topology);
}

TEST(Json, NumbersArePrintedAsPeopleWriteThem) {
    const std::string text = topology_to_json(topology_from_json(small));
    EXPECT_THAT(text, HasSubstr("\"GBps\": 50, \"GBps_nccl\": 41.2, \"latency_us\": 0.7}"));
    EXPECT_THAT(text, HasSubstr("\"GBps\": 1e-09"));
    EXPECT_THAT(text, HasSubstr("\"memory_GiB\": 15.5"));
}

TEST(Json, ATextThatIsNotUtf8IsRefusedOnWriting) {
    const Topology topology("\xff", {gpu("a")}, {});
    EXPECT_THAT(error_of([&] { topology_to_json(topology); }), HasSubstr("UTF-8"));
}

TEST(Json, ForbiddenPairsAreKept) {
    Topology topology("pair", {gpu("a"), gpu("b")}, {});
    EXPECT_EQ(topology_to_json(topology).find("no_peer_access"), std::string::npos);
    topology.set_no_peer_access({{1, 0}});
    const std::string text = topology_to_json(topology);
    EXPECT_THAT(text, HasSubstr(R"("no_peer_access": [
    {"src": "b", "dst": "a"}
  ])"));
    EXPECT_EQ(topology_from_json(text), topology);
    const auto error = [](const std::string& pairs) {
        return error_in(R"({"schema": 2, "name": "x", "no_peer_access": )" + pairs +
                        R"(, "nodes": [{"id": "a", "type": "gpu"}, {"id": "c", "type": "cpu"}],
                           "links": []})");
    };
    EXPECT_THAT(error(R"([{"src": "a", "dst": "b"}])"), HasSubstr("there is no node \"b\""));
    EXPECT_THAT(error(R"([{"src": "a", "dst": "c"}])"),
                HasSubstr("/no_peer_access/0/dst: \"c\" is no gpu"));
    EXPECT_THAT(error(R"([{"src": "a", "dst": "a"}])"), HasSubstr("a gpu reaches itself"));
    EXPECT_THAT(error(R"([{"src": "a"}])"), HasSubstr("\"dst\" is missing"));
    EXPECT_THAT(error("7"), HasSubstr("/no_peer_access: expected an array"));
}

TEST(Json, SchemaOneIsStillRead) {
    const Topology topology = topology_from_json(R"({"schema": 1, "name": "old", "desc": "words",
        "nodes": [{"id": "a", "type": "gpu"}, {"id": "b", "type": "gpu"}],
        "links": [{"src": "a", "dst": "b", "kind": "PCI", "count": 1, "GBps": 15.754,
                   "GBps_nccl": 12.0}], "sources": ["s"]})");
    EXPECT_EQ(topology.description(), "words");
    EXPECT_TRUE(topology.pci_peer_access());
    EXPECT_EQ(topology.links()[0].nominal, 15'754'000'000);
    EXPECT_THAT(topology_to_json(topology), HasSubstr("\"schema\": 2"));
}

TEST(Json, SchemaOneHasNoKeysOfSchemaTwo) {
    EXPECT_THAT(error_in(with("\"schema\": 2", "\"schema\": 1")), HasSubstr("\"description\""));
}

TEST(Json, OtherSchemasAreRefused) {
    EXPECT_THAT(error_in(with("\"schema\": 2", "\"schema\": 3")),
                HasSubstr("/schema: version 3 is not known"));
    EXPECT_THAT(error_in(with("\"schema\": 2,", "")), HasSubstr("\"schema\" is missing"));
    EXPECT_THAT(error_in(with("\"schema\": 2", "\"schema\": \"2\"")),
                HasSubstr("/schema: expected an integer, found a string"));
}

TEST(Json, UnknownKeysAreNamedWithTheirElement) {
    EXPECT_THAT(
        error_in(with("\"sources\"", "\"source\"")),
        AllOf(HasSubstr("top level: unknown key \"source\""), HasSubstr("pci_peer_access")));
    EXPECT_THAT(error_in(with("\"model\"", "\"modle\"")),
                HasSubstr("/nodes/0 (\"a\"): unknown key \"modle\""));
    EXPECT_THAT(error_in(with("\"latency_us\"", "\"latency\"")),
                HasSubstr("/links/0 (\"a\" -> \"b\"): unknown key \"latency\""));
    EXPECT_THAT(error_in(with("\"type\": \"cpu\"", "\"type\": \"cpu\", \"model\": \"x\"")),
                HasSubstr("/nodes/3 (\"c\"): unknown key \"model\""));
}

TEST(Json, MissingKeysAreNamedWithTheirElement) {
    EXPECT_THAT(error_in(with("\"name\": \"pair\",", "")), HasSubstr("\"name\" is missing"));
    EXPECT_THAT(error_in(with("\"id\": \"b\", ", "")), HasSubstr("/nodes/1: the key \"id\""));
    EXPECT_THAT(error_in(with("\"GBps\": 50, ", "")), HasSubstr("/links/0 (\"a\" -> \"b\"): the"));
}

TEST(Json, WrongTypesAreNamedWithTheirPath) {
    EXPECT_THAT(error_in("[]"), HasSubstr("top level: expected an object, found an array"));
    EXPECT_THAT(error_in("null"), HasSubstr("found null"));
    EXPECT_THAT(error_in(with("\"pair\"", "7")),
                HasSubstr("/name: expected a string, found a num"));
    EXPECT_THAT(error_in(with("false", "0")),
                HasSubstr("/pci_peer_access: expected true or false"));
    EXPECT_THAT(error_in(with("[\"the label\"]", "[\"x\", 1]")),
                HasSubstr("/sources/1: expected a"));
    EXPECT_THAT(error_in(with("[\"the label\"]", "{}")), HasSubstr("/sources: expected an array"));
    EXPECT_THAT(error_in(with("{\"id\": \"b\", \"type\": \"gpu\"}", "[]")),
                HasSubstr("/nodes/1: expected an object, found an array"));
    EXPECT_THAT(error_in(with("\"GBps\": 50", "\"GBps\": \"50\"")),
                HasSubstr("/links/0/GBps: expected a number, found a string"));
    EXPECT_THAT(error_in(with("\"count\": 2", "\"count\": 2.5")),
                HasSubstr("/links/0/count: expected an integer of at most 63 bits, found 2.5"));
    EXPECT_THAT(error_in(with("15.5", "true")),
                HasSubstr("/nodes/0/memory_GiB: expected a number"));
}

TEST(Json, WordsOutsideTheListsAreRefused) {
    EXPECT_THAT(error_in(with("\"cpu\"", "\"CPU\"")),
                HasSubstr("/nodes/3/type: \"CPU\" is not gpu"));
    EXPECT_THAT(error_in(with("\"NVL\"", "\"nvlink\"")), HasSubstr("/links/0/kind: \"nvlink\""));
    for (const char* bad : {"7", "70", "7.", ".0", "7.0a", "-7.0", "7.-1", "0.0", "", "7,0"}) {
        EXPECT_THAT(error_in(with("\"7.0\"", '"' + std::string(bad) + '"')),
                    HasSubstr("/nodes/0/compute_capability"));
    }
}

TEST(Json, EndpointsMustExist) {
    EXPECT_THAT(error_in(with("\"dst\": \"b\"", "\"dst\": \"z\"")),
                HasSubstr("/links/0/dst: there is no node \"z\""));
}

TEST(Json, NumbersOutOfRangeAreRefused) {
    for (const char* bad : {"0", "-1", "1e-12", "1e5000", "1e300", "100001"}) {
        EXPECT_NE(error_in(with("\"GBps\": 50", "\"GBps\": " + std::string(bad))), "") << bad;
    }
    for (const char* bad :
         {"0", "-1", "2147483649", "99999999999999999999", "18446744073709551615"}) {
        EXPECT_NE(error_in(with("\"count\": 2", "\"count\": " + std::string(bad))), "") << bad;
    }
    EXPECT_THAT(error_in(with("15.5", "-1")), HasSubstr("/nodes/0/memory_GiB"));
    EXPECT_THAT(error_in(with("0.7", "-0.7")), HasSubstr("link 0 (a -> b, NVL): the latency"));
}

TEST(Json, SyntaxErrorsHaveLineAndColumn) {
    EXPECT_THAT(error_in("{\n  \"schema\": 2,\n  oops\n}"), HasSubstr("line 3, column 3"));
    EXPECT_THAT(error_in(""), HasSubstr("line 1, column 1"));
    EXPECT_THAT(error_in(std::string(small).substr(0, 200)), HasSubstr("line"));
    EXPECT_THAT(error_in(std::string(small) + "x"), HasSubstr("line 18"));
    EXPECT_THAT(error_in("\xff"), HasSubstr("not valid JSON"));
    EXPECT_THAT(error_in(with("50", "NaN")), HasSubstr("line"));
}

TEST(Json, EveryTruncationIsAnError) {
    const std::string text = small;
    for (std::size_t length = 0; length < text.size(); ++length) {
        EXPECT_THROW(topology_from_json(text.substr(0, length)), TopologyError) << length;
    }
}

TEST(Json, RepeatedKeysAreRefused) {
    EXPECT_THAT(error_in(with("\"count\": 2", "\"count\": 2, \"count\": 3")),
                HasSubstr("\"count\" appears twice"));
}

TEST(Json, DepthAndSizeAreBounded) {
    EXPECT_THAT(error_in(std::string(1'000'000, '[')), HasSubstr("nested deeper"));
    EXPECT_THAT(error_in(std::string((16 << 20) + 1, ' ')), HasSubstr("16777217 bytes"));
}

}  // namespace
}  // namespace rondo::testing
