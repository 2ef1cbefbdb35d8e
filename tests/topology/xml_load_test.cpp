// Files are told apart by what is in them.
#include <gmock/gmock.h>

#include "tests/topology/builders.hpp"
#include "topology/graph/json.hpp"
#include "topology/load/any_topology.hpp"
#include "topology/xml/nccl_xml.hpp"

namespace rondo::testing {
namespace {

using ::testing::HasSubstr;

const std::string dump = RONDO_TEST_DATA "/dgx1v_8gpu_blinkplus.xml";

TEST(LoadAny, ReadsXmlFiles) {
    const Topology topology = load_any_topology(dump);
    EXPECT_EQ(topology.gpu_count(), 8);
    EXPECT_EQ(topology.name(), "nccl");
}

TEST(LoadAny, ReadsWhatLoadTopologyReads) {
    EXPECT_EQ(load_any_topology("4"), make_host_topology(4));
    EXPECT_EQ(load_any_topology("hgx_h100"), load_topology("hgx_h100"));
}

TEST(LoadAny, TellsTextsApart) {
    const Topology topology = load_topology("pcie8_2sw");
    const std::string json = topology_to_json(topology);
    const std::string xml = topology_to_nccl_xml(topology);
    EXPECT_EQ(topology_from_any_text(json), topology);
    EXPECT_EQ(topology_from_any_text("\n \t" + json), topology);
    EXPECT_EQ(topology_from_any_text(xml).links().size(), topology.links().size());
    EXPECT_EQ(topology_from_any_text("\r\n " + xml).gpu_count(), 8);
    EXPECT_EQ(topology_from_any_text("\xef\xbb\xbf<!-- c -->" + xml).gpu_count(), 8);
    EXPECT_THAT(error_of([] { topology_from_any_text(""); }), HasSubstr("JSON"));
    EXPECT_THAT(error_of([] { topology_from_any_text("<a/>"); }), HasSubstr("<a>"));
}

TEST(LoadAny, NamesTheFileInErrors) {
    EXPECT_THAT(error_of([] { load_any_topology(RONDO_TEST_DATA); }), HasSubstr("directory"));
    EXPECT_THAT(error_of([] { load_topology(dump); }), HasSubstr("not valid JSON"));
}

}  // namespace
}  // namespace rondo::testing
