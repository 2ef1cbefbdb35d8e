// rondo-topo list, show, validate and convert, run as a user runs them.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/topology/tool/run.hpp"
#include "topology/graph/json.hpp"
#include "topology/load/any_topology.hpp"

namespace rondo::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

using TopoProgram = ToolTest;

TEST_F(TopoProgram, HelpTeachesByExamples) {
    for (const char* arguments : {"--help", "-h"}) {
        const Result result = topo(arguments);
        EXPECT_EQ(result.code, 0);
        EXPECT_THAT(result.out, AllOf(HasSubstr("rondo-topo bound dgx1_v100 --gpus 0-4"),
                                      HasSubstr("Exit codes: 0 done, 1 failed"),
                                      HasSubstr("validate"), HasSubstr("convert")));
        EXPECT_THAT(result.error, IsEmpty());
    }
    EXPECT_THAT(topo("bound --help").out, HasSubstr("default: all"));
}

TEST_F(TopoProgram, WrongUsageIsToldApartFromFailure) {
    for (const char* arguments :
         {"", "no_such_command", "show", "show host --no_such_option", "convert host", "list extra",
          "convert host out.txt", "convert host - --format yaml"}) {
        SCOPED_TRACE(arguments);
        const Result result = topo(arguments);
        EXPECT_EQ(result.code, 2);
        EXPECT_THAT(result.out, IsEmpty());
        EXPECT_THAT(result.error, Not(IsEmpty()));
    }
    EXPECT_THAT(topo("convert host out.txt").error,
                HasSubstr("\"out.txt\": can't tell the format"));
    EXPECT_THAT(topo("convert host - --format yaml").error, HasSubstr("yaml"));
}

TEST_F(TopoProgram, ListNamesEveryPreset) {
    const Result result = topo("list");
    EXPECT_EQ(result.code, 0);
    const auto json = nlohmann::json::parse(topo("list --json").out);
    EXPECT_EQ(json.size(), preset_names().size());
    for (const std::string& preset : preset_names()) {
        EXPECT_THAT(result.out, HasSubstr("\n  " + preset + " "));
    }
    EXPECT_EQ(json.at(0).at("name"), preset_names().front());
    EXPECT_EQ(json.at(0).at("gpus"), 8);
}

TEST_F(TopoProgram, ShowPrintsNodesLinksAndConnections) {
    const Result result = topo("show dgx1_v100");
    EXPECT_EQ(result.code, 0);
    EXPECT_THAT(result.out, StartsWith("dgx1_v100: 8 GPUs\n"));
    EXPECT_THAT(result.out, HasSubstr("Tesla V100-SXM2-32GB, sm_70, 32 GiB, 0000:06:00.0"));
    EXPECT_THAT(result.out, HasSubstr("50 GB/s (40 in NCCL's model)"));
    EXPECT_THAT(result.out, HasSubstr("gpu0            X  NV1  NV1  NV2  NV2  SYS  SYS  SYS"));
    EXPECT_THAT(topo("show pcie4_nop2p").out, HasSubstr("No peer access over PCI Express."));
}

TEST_F(TopoProgram, ShowSumsUpLargeMachines) {
    const std::string brief = topo("show gb200_nvl72_1sw").out;
    EXPECT_THAT(brief, HasSubstr("Every pair of GPUs is connected by NV18."));
    EXPECT_THAT(brief, HasSubstr("and 49 more"));
    EXPECT_THAT(brief, Not(HasSubstr("gpu70-nvs")));
    const std::string full = topo("show gb200_nvl72_1sw --all").out;
    EXPECT_THAT(full, AllOf(HasSubstr("gpu70-nvs"), HasSubstr("CONNECTED BY")));
}

TEST_F(TopoProgram, ShowReadsFilesOfBothKinds) {
    EXPECT_THAT(topo("show '" RONDO_TEST_DATA "/dgx1v_8gpu_blinkplus.xml'").out,
                StartsWith("nccl: 8 GPUs\n"));
    EXPECT_EQ(topo("convert pcie8_2sw '" + file("box.json").string() + "'").code, 0);
    EXPECT_THAT(topo("show '" + file("box.json").string() + "'").out,
                StartsWith("pcie8_2sw: 8 GPUs\n"));
}

TEST_F(TopoProgram, UnknownTopologyIsNamed) {
    const Result result = topo("show dgx99");
    EXPECT_EQ(result.code, 1);
    EXPECT_THAT(result.out, IsEmpty());
    EXPECT_THAT(result.error,
                AllOf(StartsWith("rondo-topo: topology \"dgx99\""), HasSubstr("dgx1_v100")));
}

TEST_F(TopoProgram, PictureGoesToAFileOrToStandardOutput) {
    const std::string picture = file("picture.svg").string();
    const Result result = topo("show dgx1_v100 --svg '" + picture + "'");
    EXPECT_EQ(result.code, 0);
    EXPECT_THAT(result.out, HasSubstr("Picture: " + picture));
    EXPECT_THAT(file_contents(picture), StartsWith("<svg "));
    EXPECT_EQ(topo("show dgx1_v100 --svg -").out, file_contents(picture));
    const Result refused = topo("show host --svg /no_such_folder/picture.svg");
    EXPECT_EQ(refused.code, 1);
    EXPECT_THAT(refused.error, HasSubstr("\"/no_such_folder/picture.svg\": can't be written"));
}

TEST_F(TopoProgram, ValidateSaysWhatIsThere) {
    const std::string good = write("good.json", topology_to_json(load_topology("dgx1_v100")));
    const Result result = topo("validate '" + good + "'");
    EXPECT_EQ(result.code, 0);
    EXPECT_EQ(result.out, good + ": valid: \"dgx1_v100\", 14 nodes (8 GPUs), 58 links\n");
}

TEST_F(TopoProgram, ValidateNamesTheElementThatIsWrong) {
    const auto error = [&](const std::string& text) {
        const std::string bad = write("bad.json", text).string();
        const Result result = topo("validate '" + bad + "'");
        EXPECT_EQ(result.code, 1);
        EXPECT_THAT(result.out, IsEmpty());
        EXPECT_THAT(result.error, StartsWith("rondo-topo: " + bad + ": "));
        return result.error;
    };
    EXPECT_THAT(error("{\"schema\": 2,"), HasSubstr("line 1"));
    EXPECT_THAT(error(R"({"schema":2,"name":"x","nodes":[{"id":"a","type":"gpu"}],
                          "links":[{"src":"a","dst":"b","kind":"NVL","GBps":1}]})"),
                HasSubstr("/links/0"));
    EXPECT_THAT(error("<system version=\"9\"></system>"), HasSubstr("line 1"));
    const Result missing = topo("validate /no/such/file");
    EXPECT_EQ(missing.code, 1);
    EXPECT_THAT(missing.error, HasSubstr("/no/such/file"));
}

TEST_F(TopoProgram, ValidateNotesWhatLooksOdd) {
    const std::string odd = write("odd.json", R"({"schema":2,"name":"odd","nodes":[
        {"id":"a","type":"gpu"},{"id":"b","type":"gpu"},{"id":"c","type":"gpu"}],"links":[
        {"src":"a","dst":"b","kind":"NVL","GBps":1},{"src":"b","dst":"a","kind":"NVL","GBps":2}]})");
    const Result result = topo("validate '" + odd + "'");
    EXPECT_EQ(result.code, 0);
    EXPECT_THAT(result.out, HasSubstr("note: a -> b (NVL): the other direction is missing or"));
    EXPECT_THAT(result.out, HasSubstr("note: the GPUs of the allocation are not joined"));
}

TEST_F(TopoProgram, ConvertLosesNothingOnTheWayToXmlAndBack) {
    const std::string xml = file("box.xml").string();
    EXPECT_EQ(topo("convert dgx1_v100 '" + xml + "'").code, 0);
    EXPECT_THAT(file_contents(xml), StartsWith("<system"));
    const Result back = topo("convert '" + xml + "' - --format json");
    EXPECT_EQ(back.code, 0);
    const Topology topology = topology_from_json(back.out);
    EXPECT_EQ(topology.gpu_count(), 8);
    EXPECT_EQ(topology.links().size(), load_topology("dgx1_v100").links().size());
}

TEST_F(TopoProgram, ConvertTellsWhatTheFormatCannotHold) {
    const Result result = topo("convert dgx_a100_x2 '" + file("two.xml").string() + "'");
    EXPECT_EQ(result.code, 0);
    EXPECT_THAT(result.error, AllOf(HasSubstr("left out: "), HasSubstr("ib")));
}

TEST_F(TopoProgram, FullDisksAreNoticed) {
    if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full here";
    const int status = std::system("'" RONDO_TOPO "' list > /dev/full 2> /dev/null");
    EXPECT_EQ(WEXITSTATUS(status), 1);
    EXPECT_EQ(topo("convert host /dev/full --format json").code, 1);
}

TEST_F(TopoProgram, VersionAndUnknownCommands) {
    EXPECT_THAT(topo("--version").out, ::testing::HasSubstr("rondo-topo "));
    const Result unknown = topo("foo");
    EXPECT_EQ(unknown.code, 2);
    EXPECT_THAT(unknown.error, ::testing::HasSubstr("unknown command 'foo'"));
    EXPECT_THAT(unknown.error, ::testing::HasSubstr("plan"));
}

}  // namespace
}  // namespace rondo::testing
