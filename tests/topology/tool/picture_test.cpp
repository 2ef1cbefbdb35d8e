// The picture is well-formed, holds every node and cable, and nodes do not cover each other.
#include "topology/tool/picture.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <pugixml.hpp>

#include "topology/load/any_topology.hpp"
#include "topology/tool/picture_layout.hpp"
#include "topology/tool/wiring.hpp"

namespace rondo::tool {
namespace {

const char* const dumps[] = {RONDO_TEST_DATA "/dgx1v_8gpu_blinkplus.xml",
                             RONDO_TEST_DATA "/rccl_mi250_16gcd_16p1h.xml"};

std::vector<Topology> machines() {
    std::vector<Topology> result;
    for (const std::string& preset : preset_names()) result.push_back(load_topology(preset));
    for (const char* dump : dumps) result.push_back(load_any_topology(dump));
    result.push_back(load_topology("1"));
    result.push_back(load_topology("100"));
    return result;
}

std::size_t count(const pugi::xml_node& parent, const char* name) {
    const auto children = parent.children(name);
    return static_cast<std::size_t>(std::distance(children.begin(), children.end()));
}

TEST(Picture, HoldsEveryNodeCableAndLegendEntry) {
    for (const Topology& topology : machines()) {
        SCOPED_TRACE(topology.name());
        pugi::xml_document document;
        ASSERT_TRUE(document.load_string(picture(topology).c_str()));
        const pugi::xml_node svg = document.child("svg");
        EXPECT_EQ(count(svg, "g"), topology.nodes().size());
        std::size_t lines = 0;
        std::size_t samples = 0;
        for (const pugi::xml_node path : svg.children("path")) {
            (path.child("title") ? lines : samples) += 1;
        }
        EXPECT_EQ(lines, cables(topology).size());
        EXPECT_GE(samples, 1u);
    }
}

TEST(Picture, NodesDoNotCoverEachOtherAndStayInside) {
    for (const Topology& topology : machines()) {
        SCOPED_TRACE(topology.name());
        const Layout layout = lay_out(topology);
        for (std::size_t a = 0; a < layout.centres.size(); ++a) {
            const auto [x, y] = layout.centres[a];
            EXPECT_GE(x, layout.box_width / 2);
            EXPECT_LE(x, layout.width - layout.box_width / 2);
            EXPECT_GE(y, layout.box_height / 2);
            EXPECT_LE(y, layout.height - layout.box_height / 2);
            for (std::size_t b = 0; b < a; ++b) {
                EXPECT_TRUE(std::abs(x - layout.centres[b].x) >= layout.box_width ||
                            std::abs(y - layout.centres[b].y) >= layout.box_height)
                    << topology.nodes()[a].id << " covers " << topology.nodes()[b].id;
            }
        }
    }
}

TEST(Picture, TextsAreEscapedAndLongIdsCut) {
    Node node;
    node.id = "a<b&c>\"d\" and a very long tail";
    Topology topology("<&>", {node}, {});
    topology.set_description("x < y & z");
    pugi::xml_document document;
    ASSERT_TRUE(document.load_string(picture(topology).c_str()));
    const pugi::xml_node group = document.child("svg").child("g");
    EXPECT_STREQ(document.child("svg").child("title").text().get(), "<&>");
    EXPECT_STREQ(group.child("title").text().get(), ("gpu " + node.id).c_str());
    EXPECT_STREQ(group.child("text").text().get(), "a<b&c>\"d\" and …");
}

TEST(Wiring, TwoDirectionsAreOneCableOnlyIfTheyAreTheSame) {
    Node other;
    other.id = "b";
    Node node;
    node.id = "a";
    Link there;
    there.target = 1;
    there.nominal = there.nccl = 5;
    Link back = there;
    std::swap(back.source, back.target);
    EXPECT_EQ(cables(Topology("t", {node, other}, {there, back})).size(), 1u);
    back.nccl = 4;
    const auto two = cables(Topology("t", {node, other}, {there, back}));
    ASSERT_EQ(two.size(), 2u);
    EXPECT_FALSE(two[0].both_ways);
}

}  // namespace
}  // namespace rondo::tool
