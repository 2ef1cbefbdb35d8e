// The writer keeps to what NCCL's own parser reads.
#include "topology/xml/writer.hpp"

#include <gmock/gmock.h>

#include "tests/topology/builders.hpp"

namespace rondo::testing {
namespace {

using ::testing::HasSubstr;

TEST(XmlWriter, IndentsByTwoAndClosesEmptyElementsAtOnce) {
    XmlWriter writer;
    writer.open("system", {{"version", "1"}, {"name", "a b"}});
    writer.open("cpu", {});
    writer.close();
    writer.open("cpu", {{"numaid", "1"}});
    writer.open("nic", {});
    writer.close();
    writer.close();
    writer.close();
    EXPECT_EQ(writer.take(),
              "<system version=\"1\" name=\"a b\">\n"
              "  <cpu/>\n"
              "  <cpu numaid=\"1\">\n"
              "    <nic/>\n"
              "  </cpu>\n"
              "</system>\n");
}

TEST(XmlWriter, EscapesWhatWouldEndAValue) {
    XmlWriter writer;
    writer.open("a", {{"x", "<&>\""}});
    writer.close();
    EXPECT_EQ(writer.take(), "<a x=\"&lt;&amp;&gt;&quot;\"/>\n");
}

TEST(XmlWriter, BoundsValues) {
    XmlWriter writer;
    writer.open("a", {{"x", std::string(253, 'v')}});
    EXPECT_THAT(error_of([&] {
                    writer.open("b", {{"x", std::string(254, 'v')}});
                }),
                HasSubstr("attribute x of <b> has 254 bytes"));
    EXPECT_THAT(error_of([&] { writer.open("c", {{"x", "\t"}}); }), HasSubstr("not printable"));
}

TEST(XmlWriter, BoundsAttributes) {
    XmlWriter writer;
    writer.open("a", XmlAttributes(16, {"x", "1"}));
    EXPECT_THAT(error_of([&] {
                    writer.open("b", XmlAttributes(17, {"x", "1"}));
                }),
                HasSubstr("<b> needs 17 attributes"));
}

TEST(XmlWriter, BoundsElements) {
    XmlWriter writer;
    writer.open("a", {});
    for (int i = 1; i < 255; ++i) {
        writer.open("b", {});
        writer.close();
    }
    EXPECT_THAT(error_of([&] { writer.open("b", {}); }), HasSubstr("more elements"));
}

}  // namespace
}  // namespace rondo::testing
