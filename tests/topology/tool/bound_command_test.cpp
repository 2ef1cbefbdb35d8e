// rondo-topo bound: the figures, the reasons, the JSON that programs read.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/topology/tool/run.hpp"

namespace rondo::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TopoBound : public ToolTest {
protected:
    nlohmann::json json(const std::string& arguments) const {
        const Result result = topo("bound " + arguments + " --json");
        EXPECT_EQ(result.code, 0) << result.error;
        return nlohmann::json::parse(result.out);
    }
};

TEST_F(TopoBound, FiguresOfBothModels) {
    EXPECT_NEAR(json("dgx1_v100 --links nvlink").at("algbw_bound"), 68.5714, 1e-4);
    EXPECT_NEAR(json("dgx1_v100 --links nvlink --model nominal").at("algbw_bound"), 85.7143, 1e-4);
    EXPECT_NEAR(json("dgx1_v100").at("algbw_bound"), 75.4286, 1e-4);
    EXPECT_NEAR(json("mi250_16gcd").at("algbw_bound"), 123.4286, 1e-4);
}

TEST_F(TopoBound, AllocationsAndHelpers) {
    const auto alone = json("dgx1_v100 --gpus 0,1 --links nvlink");
    EXPECT_EQ(alone.at("algbw_bound"), 20.0);
    EXPECT_EQ(alone.at("gpus"), (std::vector<int>{0, 1}));
    EXPECT_EQ(json("dgx1_v100 --gpus 0,1 --links nvlink --helpers").at("algbw_bound"), 120.0);
    EXPECT_EQ(json("dgx1_v100 --gpus 0-4 --links nvlink").at("gpus"),
              (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST_F(TopoBound, DrawsTheHeaviestTrees) {
    const std::string picture = topo("bound dgx1_v100 --links nvlink --svg -").out;
    EXPECT_THAT(picture, AllOf(HasSubstr("<svg "), HasSubstr("16 trees at 68.6 GB/s, which no"),
                               HasSubstr("the 7 heaviest are shown")));
    const auto count = [&](const std::string& part) {
        std::size_t found = 0;
        for (auto at = picture.find(part); at != std::string::npos; at = picture.find(part, at + 1))
            ++found;
        return found;
    };
    EXPECT_EQ(count("<circle "), 8u * 8);             // every GPU in every panel
    EXPECT_EQ(count("marker-end"), 7u * 7);           // every tree has an edge less than GPUs
    EXPECT_EQ(count("stroke=\"#4d9a12\""), 16u);      // cables of a DGX-1
    EXPECT_EQ(count("fill=\"#c2410c\" stroke"), 7u);  // one root each
    EXPECT_THAT(topo("bound 1 --svg -").out, HasSubstr("<svg "));
}

TEST_F(TopoBound, JsonTellsTheWholeStory) {
    const auto report = json("dgx1_v100 --gpus 0,1,2,3,4 --links nvlink");
    EXPECT_EQ(report.at("topology"), "dgx1_v100");
    EXPECT_EQ(report.at("links"), "nvlink");
    EXPECT_EQ(report.at("model"), "nccl");
    EXPECT_EQ(report.at("unit"), "GB/s");
    EXPECT_EQ(report.at("exact"), true);
    EXPECT_EQ(report.at("algbw_bound"), 40.0);
    EXPECT_EQ(report.at("algbw_bound_bytes_per_second"), "40000000000");
    EXPECT_THAT(report.at("reason").get<std::string>(), HasSubstr("{gpu4}"));
    const auto& collectives = report.at("collectives");
    EXPECT_EQ(collectives.size(), 8u);
    EXPECT_EQ(collectives.at("all_reduce").at("busbw"), 64.0);
    EXPECT_EQ(collectives.at("all_reduce").at("equal_shares"), 25.0);
    EXPECT_EQ(collectives.at("all_gather").at("algbw"), 50.0);
    EXPECT_EQ(collectives.at("all_gather").at("busbw"), 40.0);
    EXPECT_EQ(collectives.at("broadcast").at("root"), 0);
    // Four fifths of what GPU 4 sends pass its two NVLinks; three fifths of what GPU 0 gathers pass
    // four of its NVLinks.
    EXPECT_EQ(collectives.at("all_to_all").at("algbw"), 50.0);
    EXPECT_DOUBLE_EQ(collectives.at("gather").at("algbw").get<double>(), 80.0 * 5 / 3);
}

TEST_F(TopoBound, TreesSpanAndAddUp) {
    const auto report = json("dgx1_v100 --gpus 0,1,2,3,4 --links nvlink");
    double weight = 0;
    double share = 0;
    for (const auto& tree : report.at("trees")) {
        weight += tree.at("weight").get<double>();
        share += tree.at("share").get<double>();
        EXPECT_EQ(tree.at("edges").size(), 4u);
        EXPECT_LE(tree.at("depth"), report.at("depth"));
    }
    EXPECT_NEAR(weight, 40, 1e-9);
    EXPECT_NEAR(share, 1, 1e-12);
}

TEST_F(TopoBound, OneGpuIsNotLimited) {
    EXPECT_TRUE(json("dgx1_v100 --gpus 3").at("algbw_bound").is_null());
    EXPECT_THAT(topo("bound dgx1_v100 --gpus 3").out, HasSubstr("One GPU alone uses no links."));
}

TEST_F(TopoBound, TablesForPeople) {
    const Result result = topo("bound dgx1_v100 --gpus 0-4 --links nvlink");
    EXPECT_EQ(result.code, 0);
    EXPECT_THAT(result.out, AllOf(HasSubstr("5 of 8 GPUs (0-4)"), HasSubstr("all_reduce"),
                                  HasSubstr("  40.00       64.00         25.00\n"),
                                  HasSubstr("so no all_reduce exceeds 40 GB/s."),
                                  HasSubstr("HOPS (PARENT-CHILD)")));
    EXPECT_THAT(topo("bound gb200_nvl72_1sw").out, HasSubstr("and 56 more; --json lists all"));
}

TEST_F(TopoBound, BadValuesAreNamed) {
    const auto error = [&](const std::string& arguments, int code) {
        const Result result = topo("bound " + arguments);
        EXPECT_EQ(result.code, code) << arguments;
        EXPECT_THAT(result.out, IsEmpty());
        return result.error;
    };
    for (const char* gpus : {"x", "1,,2", "3-1", "-1", "1-", "1.5", "99999999999", "0,1,"}) {
        SCOPED_TRACE(gpus);
        EXPECT_THAT(error(std::string("dgx1_v100 --gpus=") + gpus, 2),
                    HasSubstr("is not a GPU; write numbers and ranges"));
    }
    EXPECT_THAT(error("dgx1_v100 --gpus 0,x7", 2), HasSubstr("\"x7\""));
    EXPECT_THAT(error("dgx1_v100 --links pcie", 2), HasSubstr("\"pcie\" is unknown"));
    EXPECT_THAT(error("dgx1_v100 --model fast", 2), HasSubstr("\"fast\" is unknown"));
    EXPECT_THAT(error("dgx1_v100 --gpus 0,8", 1), HasSubstr("there is no GPU 8 in dgx1_v100"));
    EXPECT_THAT(error("dgx1_v100 --gpus 2,2", 1), HasSubstr("GPU 2 is in the allocation twice"));
    EXPECT_THAT(error("dgx1_v100 --gpus 1,4,6 --links nvlink", 1), HasSubstr("{1}, {4, 6}"));
    EXPECT_THAT(error("no_such_machine", 1), HasSubstr("\"no_such_machine\""));
}

}  // namespace
}  // namespace rondo::testing
