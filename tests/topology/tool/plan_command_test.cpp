// rondo-topo plan: the choice, the candidates, the reason, the trace.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/topology/tool/run.hpp"

namespace rondo::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class TopoPlan : public ToolTest {
protected:
    nlohmann::json json(const std::string& arguments) const {
        const Result result = topo("plan " + arguments + " --json");
        EXPECT_EQ(result.code, 0) << result.error;
        return nlohmann::json::parse(result.out);
    }
};

TEST_F(TopoPlan, JsonHasTheChoiceAndEveryCandidate) {
    const auto report = json("dgx1_v100 --gpus 0,1,2,3,4 --links nvlink --bytes 64M");
    EXPECT_EQ(report.at("algbw_bound"), 40.0);
    const auto& chosen = report.at("chosen");
    EXPECT_EQ(chosen.at("strategy"), "forest");
    EXPECT_NEAR(chosen.at("algbw").get<double>(),
                64 * 1024 * 1024 / chosen.at("time_us").get<double>() / 1e3, 1e-6);
    EXPECT_NEAR(chosen.at("of_bound").get<double>(), chosen.at("algbw").get<double>() / 40, 1e-9);
    EXPECT_LE(chosen.at("of_bound").get<double>(), 1.0);
    const auto& candidates = report.at("candidates");
    ASSERT_GE(candidates.size(), 5u);
    EXPECT_EQ(candidates.front(), chosen);
    for (const auto& candidate : candidates) {
        if (candidate.contains("problem")) continue;
        EXPECT_GE(candidate.at("time_us").get<double>(), chosen.at("time_us").get<double>());
    }
}

TEST_F(TopoPlan, TellsWhyARingIsBad) {
    const Result result = topo("plan dgx1_v100 --gpus 0,1,2,3,4 --bytes 256M");
    EXPECT_EQ(result.code, 0) << result.error;
    EXPECT_THAT(result.out, AllOf(HasSubstr("A ring"), HasSubstr("narrowest"), HasSubstr("6 GB/s"),
                                  HasSubstr("runner-up")));
}

TEST_F(TopoPlan, AStrategyCanBeAskedFor) {
    const auto report = json("dgx_a100 --bytes 1M --strategy ring");
    EXPECT_EQ(report.at("chosen").at("strategy"), "ring");
    EXPECT_THAT(report.at("reason").get<std::string>(), HasSubstr("asked for"));
    for (const char* collective : {"reduce", "broadcast", "reduce_scatter", "all_gather",
                                   "all_to_all", "gather", "scatter"}) {
        const auto other =
            json(std::string("dgx1_v100 --bytes 1M --gpus 0-3 --collective ") + collective);
        EXPECT_EQ(other.at("collective"), collective);
        EXPECT_LE(other.at("chosen").at("of_bound").get<double>(), 1.0);
    }
}

TEST_F(TopoPlan, SizesMayBeWrittenInAnyUsualWay) {
    for (const char* bytes : {"1k", "1K", "1KiB", "1024"}) {
        EXPECT_EQ(json(std::string("dgx_a100 --bytes ") + bytes).at("bytes"), 1024) << bytes;
    }
}

TEST_F(TopoPlan, ADeviceThatTakesNoPartIsNamed) {
    const Result result = topo("plan dgx_a100 --bytes 1M --strategy 'reduction_to_one_device(9)'");
    EXPECT_EQ(result.code, 1);
    EXPECT_THAT(result.error, HasSubstr("device 9 is not in the communicator"));
}

TEST_F(TopoPlan, TooManyRanksAreRefused) {
    const Result result = topo("plan 129 --bytes 1G");
    EXPECT_EQ(result.code, 1);
    EXPECT_THAT(result.error, HasSubstr("129 ranks; there may be 128 at most"));
}

TEST_F(TopoPlan, WritesATrace) {
    const auto trace = file("trace.json");
    const Result result =
        topo("plan dgx_a100 --bytes 1M --strategy ring --trace " + trace.string());
    EXPECT_EQ(result.code, 0) << result.error;
    EXPECT_GT(nlohmann::json::parse(file_contents(trace)).at("traceEvents").size(), 100u);
}

TEST_F(TopoPlan, WrongWordsAreNamed) {
    for (const auto& [arguments, words] :
         {std::pair{"dgx_a100 --bytes 12Q", "12Q"},
          {"dgx_a100 --bytes -5", "-5"},
          {"dgx_a100 --bytes 1M --collective all_reduced", "all_reduced"},
          {"dgx_a100 --bytes 1M --strategy rings", "rings"},
          {"dgx_a100 --bytes 1M --model fast", "fast"},
          {"dgx_a100 --bytes 1M --gpus 0,x", "x"},
          {"dgx_a100 --bytes 1M --gpus ''", "names no GPU"},
          {"dgx_a100 --bytes 1iB", "1iB"},
          {"dgx_a100 --bytes 1M --collective reduce --gpus 0,1 --root 5", "5"}}) {
        const Result result = topo(std::string("plan ") + arguments);
        EXPECT_EQ(result.code, 2) << arguments;
        EXPECT_THAT(result.error, HasSubstr(words)) << arguments;
    }
    EXPECT_EQ(topo("plan dgx_a100 --bytes 1M --gpus 0,9").code, 1);
    EXPECT_THAT(topo("plan dgx_a100 --bytes 1M --gpus 0,9").error, HasSubstr("GPU 9"));
    EXPECT_EQ(topo("plan dgx1_v100 --bytes 1M --gpus 0,5 --links nvlink").code, 1);
}

}  // namespace
}  // namespace rondo::testing
