// Bad files: the error names the line and the element; nothing crashes, nothing takes long.
#include <gmock/gmock.h>

#include "tests/topology/builders.hpp"
#include "topology/graph/text_file.hpp"
#include "topology/xml/nccl_xml.hpp"

namespace rondo::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* small = R"(<system version="1">
  <cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">
    <pci busid="0000:06:00.0" class="0x030200" link_speed="8 GT/s" link_width="16">
      <gpu dev="0" sm="70" rank="0" gdr="1">
        <nvlink target="0000:07:00.0" count="2" tclass="0x030200"/>
        <c2c bw="1000" count="1"/>
      </gpu>
    </pci>
    <pci busid="0000:07:00.0" class="0x030200" link_speed="8 GT/s" link_width="16">
      <gpu dev="1" sm="70" rank="1" gdr="1"/>
    </pci>
    <nic>
      <net name="eth0" dev="0" speed="1000" latency="0.5"/>
    </nic>
  </cpu>
</system>
)";

std::string with(std::string_view from, std::string_view to) {
    std::string text = small;
    const auto position = text.find(from);
    EXPECT_NE(position, std::string::npos) << from;
    return text.replace(position, from.size(), to);
}

std::string error_in(const std::string& text) {
    return error_of([&] { topology_from_nccl_xml(text); });
}

TEST(XmlErrors, TheUndamagedFileIsRead) {
    EXPECT_EQ(topology_from_nccl_xml(small).gpu_count(), 2);
}

TEST(XmlErrors, TheRootIsASystemOfAKnownVersion) {
    EXPECT_THAT(error_in(""), HasSubstr("line 1"));
    EXPECT_THAT(error_in("<!-- only -->"), HasSubstr("No document element"));
    EXPECT_THAT(error_in("<graphs version=\"1\"/>"), HasSubstr("expected the element system"));
    EXPECT_THAT(error_in("<system/>"), HasSubstr("line 1, <system>: the attribute version"));
    EXPECT_THAT(error_in("<system version=\"3\"/>"), HasSubstr("\"3\" is not between 1 and 2"));
    EXPECT_THAT(error_in("<system version=\"1\"/>"), HasSubstr("there is no gpu"));
    EXPECT_THAT(error_in(std::string(small) + small), HasSubstr("line 17, <system>: there may be"));
}

TEST(XmlErrors, RequiredAttributesAreNamedWithLineAndElement) {
    for (const auto& [attribute, place] : std::vector<std::pair<std::string, std::string>>{
             {"numaid=\"0\" ", "line 2, <cpu>"},
             {"arch=\"x86_64\" ", "line 2, <cpu numaid=\"0\">"},
             {"vendor=\"GenuineIntel\" ", "line 2, <cpu numaid=\"0\">"},
             {" familyid=\"6\"", "line 2, <cpu numaid=\"0\">"},
             {" modelid=\"85\"", "line 2, <cpu numaid=\"0\">"},
             {"busid=\"0000:06:00.0\" ", "line 3, <pci>"},
             {"class=\"0x030200\" ", "line 3, <pci busid=\"0000:06:00.0\">"},
             {"link_speed=\"8 GT/s\" ", "line 3, <pci busid=\"0000:06:00.0\">"},
             {"link_width=\"16\"", "line 3, <pci busid=\"0000:06:00.0\">"},
             {"dev=\"0\" ", "line 4, <gpu>"},
             {"sm=\"70\" ", "line 4, <gpu dev=\"0\">"},
             {"target=\"0000:07:00.0\" ", "line 5, <nvlink>"},
             {"count=\"2\" ", "line 5, <nvlink target=\"0000:07:00.0\">"},
             {" tclass=\"0x030200\"", "line 5, <nvlink target=\"0000:07:00.0\">"},
             {"bw=\"1000\" ", "line 6, <c2c>"}}) {
        EXPECT_THAT(error_in(with(attribute, "")), AllOf(HasSubstr(place), HasSubstr("is missing")))
            << attribute;
    }
}

TEST(XmlErrors, WrongNumbersAreNamed) {
    for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
             {"numaid=\"0\"", "numaid=\"-2\""},
             {"numaid=\"0\"", "numaid=\"99999999999999999999\""},
             {"familyid=\"6\"", "familyid=\"six\""},
             {"modelid=\"85\"", "modelid=\"\""},
             {"link_width=\"16\"", "link_width=\"-1\""},
             {"link_width=\"16\"", "link_width=\"65\""},
             {"link_width=\"16\"", "link_width=\"16x\""},
             {"link_width=\"16\"", "link_width=\"0x-5\""},
             {"dev=\"0\"", "dev=\"-1\""},
             {"sm=\"70\"", "sm=\"7\""},
             {"sm=\"70\"", "sm=\"1000\""},
             {"rank=\"0\"", "rank=\"zero\""},
             {"count=\"2\"", "count=\"0\""},
             {"count=\"2\"", "count=\"65537\""},
             {"bw=\"1000\"", "bw=\"0\""},
             {"speed=\"1000\"", "speed=\"fast\""},
             {"latency=\"0.5\"", "latency=\"nan\""},
             {"latency=\"0.5\"", "latency=\"inf\""},
             {"latency=\"0.5\"", "latency=\"1e999\""},
             {"latency=\"0.5\"", "latency=\" 1\""}}) {
        EXPECT_THAT(error_in(with(from, to)), HasSubstr("line ")) << to;
    }
    EXPECT_THAT(error_in(with("latency=\"0.5\"", "latency=\"-1\"")), HasSubstr("latency"));
    EXPECT_THAT(error_in(with("count=\"1\"", "count=\"65536\" rondo_link=\"0,1,1\"")),
                HasSubstr("out of range"));
}

TEST(XmlErrors, BusIdsAreChecked) {
    EXPECT_THAT(error_in(with("busid=\"0000:06:00.0\"", "busid=\"six\"")),
                HasSubstr("line 3, <pci busid=\"six\">: busid: \"six\" does not look like"));
    EXPECT_THAT(error_in(with("target=\"0000:07:00.0\"", "target=\"fffffff:ffff:ff\"")),
                HasSubstr("target"));
    EXPECT_THAT(error_in(with("busid=\"0000:07:00.0\"", "busid=\"0000:06:00.0\"")),
                HasSubstr("line 9, <pci busid=\"0000:06:00.0\">: busid: it is there twice"));
}

TEST(XmlErrors, NumbersThatMustBeUnique) {
    EXPECT_THAT(error_in(with("dev=\"1\"", "dev=\"0\"")), HasSubstr("line 9"));
    EXPECT_THAT(error_in(with("rank=\"1\"", "rank=\"0\"")), HasSubstr("line 10, <gpu dev=\"1\">"));
    EXPECT_THAT(error_in(with("</cpu>", "</cpu><cpu numaid=\"0\" arch=\"arm64\"/>")),
                HasSubstr("line 15, <cpu numaid=\"0\">: numaid"));
    EXPECT_THAT(error_in(with("count=\"2\"", "count=\"2\" count=\"3\"")),
                HasSubstr("line 5, <nvlink target=\"0000:07:00.0\">: \"count\" is given twice"));
    EXPECT_THAT(error_in(with("<c2c bw=\"1000\" count=\"1\"/>",
                              "<c2c bw=\"1\" count=\"1\"/><c2c bw=\"1\" count=\"1\"/>")),
                HasSubstr("line 6, <c2c>"));
}

TEST(XmlErrors, ALinkToItself) {
    EXPECT_THAT(error_in(with("target=\"0000:07:00.0\"", "target=\"0000:06:00.0\"")),
                HasSubstr("line 5, <nvlink target=\"0000:06:00.0\">: a link from a device to"));
}

TEST(XmlErrors, LinksThatAddUpToTooMuch) {
    const std::string link = R"(<nvlink target="0000:07:00.0" count="40000" tclass="0x030200"/>)";
    EXPECT_THAT(error_in(with("<c2c", link + link + "<c2c")), HasSubstr("line 6, <nvlink"));
}

TEST(XmlErrors, TextsThatAreTooLongOrNotPrintable) {
    EXPECT_THAT(error_in(with("name=\"eth0\"", "name=\"" + std::string(254, 'x') + "\"")),
                HasSubstr("254 bytes"));
    EXPECT_THAT(error_in(with("name=\"eth0\"", "name=\"\xff\"")), HasSubstr("not printable"));
    EXPECT_THAT(error_in(with("name=\"eth0\"", "name=\"&#7;\"")), HasSubstr("not printable"));
    EXPECT_THAT(error_in(with("name=\"eth0\"", "name=\"&#xD800;\"")), HasSubstr("not printable"));
    EXPECT_THAT(error_in(std::string("<system version=\"1\">\n\0</system>", 31)),
                HasSubstr("line 2: not valid XML: a zero byte"));
}

TEST(XmlErrors, SyntaxHasItsLine) {
    EXPECT_THAT(error_in(with("</gpu>", "</cpu>")), HasSubstr("line 7: not valid XML"));
    EXPECT_THAT(error_in(with("count=\"2\"", "count=2")), HasSubstr("line 5: not valid XML"));
    EXPECT_THAT(error_in("just words"), HasSubstr("not valid XML"));
}

TEST(XmlErrors, EveryTruncationIsAnError) {
    const std::string text = small;
    const std::size_t complete = text.rfind('>') + 1;
    for (std::size_t length = 0; length < complete; ++length) {
        EXPECT_THROW(topology_from_nccl_xml(text.substr(0, length)), TopologyError) << length;
    }
}

TEST(XmlErrors, EveryFlippedByteIsReadOrRefused) {
    for (std::size_t position = 0; position < std::string(small).size(); ++position) {
        for (const int flip : {1, 2, 16, 128}) {
            std::string text = small;
            text[position] = static_cast<char>(text[position] ^ flip);
            try {
                const Topology topology = topology_from_nccl_xml(text);
                EXPECT_GE(topology.gpu_count(), 1);
            } catch (const TopologyError& error) {
                EXPECT_STRNE(error.what(), "");
            }
        }
    }
}

TEST(XmlErrors, DeepNestingIsRefused) {
    std::string text = "<system version=\"1\">";
    for (int depth = 0; depth < 100'000; ++depth) text += "<pci>";
    for (int depth = 0; depth < 100'000; ++depth) text += "</pci>";
    EXPECT_THAT(error_in(text + "</system>"), HasSubstr("nested deeper than 64"));
}

TEST(XmlErrors, HugeFilesAreRefused) {
    EXPECT_THAT(error_in(std::string((16 << 20) + 1, ' ')), HasSubstr("16777217 bytes"));
    std::string cpus = "<system version=\"1\">";
    for (int i = 1; i < 3000; ++i) {
        cpus += "<cpu numaid=\"" + std::to_string(i) + "\" arch=\"arm64\"/>";
    }
    EXPECT_THAT(error_in(cpus + std::string(small).substr(21)), HasSubstr("too many links"))
        << "a full mesh of 3000 sockets";
    std::string switches;
    for (int i = 0; i < 20'000; ++i) {
        char bus_id[32];
        std::snprintf(bus_id, sizeof bus_id, "%04x:%02x:00.0", 1 + (i >> 8), i & 255);
        switches += "<pci busid=\"" + std::string(bus_id) +
                    "\" class=\"0x060400\" link_speed=\"\" link_width=\"0\"/>";
    }
    EXPECT_THAT(error_in(with("<nic>", switches + "<nic>")), HasSubstr("too many nodes"));
}

TEST(XmlErrors, OurOwnAttributesAreCheckedToo) {
    const std::string gpu = "<pci busid=\"0000:06:00.0\"";
    for (const char* bad : {"", "1", "1,2", "1,2,x", "1,2,3,", "1,2,3,4,5", "x,2,3", "1,-5,3",
                            "0,5,3", "1,5,999999999999999999", "1,2,3,-1", "nothing"}) {
        EXPECT_NE(error_in(with(gpu, gpu + " rondo_link=\"" + bad + "\"")), "") << bad;
    }
    EXPECT_THAT(error_in(with("<cpu ", "<cpu rondo_sys=\"1:1,2,3\" ")), HasSubstr("line 2, <cpu"));
    EXPECT_THAT(error_in(with("<cpu ", "<cpu rondo_host=\"-1\" ")), HasSubstr("rondo_host"));
    EXPECT_THAT(error_in(with("<gpu ", "<gpu rondo_memory=\"-1\" ")), HasSubstr("rondo_memory"));
    EXPECT_THAT(error_in(with("<gpu ", "<gpu rondo_id=\"gpu1\" ")), HasSubstr("already used"));
}

}  // namespace
}  // namespace rondo::testing
