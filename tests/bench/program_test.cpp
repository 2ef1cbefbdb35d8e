// rondo-bench, run as a user runs it, on virtual GPUs. Nothing here depends on how fast anything
// is.
#include <gmock/gmock.h>

#include "tests/bench/nccl_format.hpp"
#include "tests/bench/run_bench.hpp"
#include "tests/bench/sample_logs.hpp"

namespace rondo::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST_F(BenchProgram, TextAndJsonAreReadByAScriptForNcclTests) {
    const BenchResult result = bench("all_reduce -g 4 -b 8 -e 4K -f 8 -J run.json");
    EXPECT_EQ(result.code, 0) << result.error;
    EXPECT_THAT(result.error, IsEmpty());
    const ForeignLog text = read_foreign_text(result.out),
                     saved = read_foreign_json(json("run.json"));
    ASSERT_EQ(text.rows.size(), 4u);  // 8, 64, 512, 4096
    ASSERT_EQ(saved.rows.size(), 4u);
    EXPECT_EQ(text.devices, 4);
    EXPECT_EQ(saved.devices, 4);
    EXPECT_EQ(text.out_of_bounds, 0);
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(text.rows[i].size, saved.rows[i].size);
        EXPECT_EQ(text.rows[i].count * 4, text.rows[i].size);
        EXPECT_EQ(text.rows[i].type, "float");
        EXPECT_EQ(text.rows[i].redop, "sum");
        EXPECT_EQ(text.rows[i].root, -1);
        EXPECT_EQ(text.rows[i].out_of_place.wrong, "0");
        EXPECT_EQ(text.rows[i].in_place.wrong, "0");
        EXPECT_GT(saved.rows[i].in_place.time, 0);
        EXPECT_NEAR(text.rows[i].in_place.time, saved.rows[i].in_place.time,
                    0.01 * saved.rows[i].in_place.time + 0.05);
        EXPECT_NEAR(saved.rows[i].in_place.busbw, saved.rows[i].in_place.algbw * 1.5, 1e-9);
        EXPECT_NEAR(saved.rows[i].in_place.algbw,
                    1e-3 * static_cast<double>(saved.rows[i].size) / saved.rows[i].in_place.time,
                    1e-9);
        EXPECT_EQ(text.rows[i].rest.size(), 6u)
            << "strategy, simulated, share of the limit twice, spread twice";
    }
}

TEST_F(BenchProgram, EveryCollectiveIsRight) {
    for (const std::string collective :
         {"all_reduce", "reduce", "broadcast", "reduce_scatter", "all_gather", "all_to_all",
          "gather", "scatter", "batch_reduce", "sendrecv"}) {
        SCOPED_TRACE(collective);
        const BenchResult result =
            bench(collective + " -g 3 -b 1000 -e 100000 -f 10 -r 2 --no-limit");
        EXPECT_EQ(result.code, 0) << result.out << result.error;
        const ForeignLog log = read_foreign_text(result.out);
        EXPECT_EQ(log.rows.size(), 3u);
        EXPECT_EQ(log.out_of_bounds_word, "OK");
        EXPECT_THAT(result.out, HasSubstr("results are exact"));
    }
}

TEST_F(BenchProgram, EveryTypeAndOperatorIsRight) {
    for (const char* ranks : {"3", "20"}) {
        const BenchResult result =
            bench(std::string("all_reduce -b 1K -e 1K -d all -o all --no-limit -g ") + ranks);
        EXPECT_EQ(result.code, 0) << result.out << result.error;
        EXPECT_EQ(read_foreign_text(result.out).rows.size(), 12u * 6);
    }
}

TEST_F(BenchProgram, AWrongResultIsCountedAndChangesTheExitCode) {
    for (const std::string collective :
         {"all_reduce", "reduce", "broadcast", "reduce_scatter", "all_gather", "all_to_all",
          "gather", "scatter", "batch_reduce", "sendrecv"}) {
        SCOPED_TRACE(collective);
        const BenchResult result = bench(
            collective + " -g 4 -b 4K -e 4K --inject-wrong 3 --no-limit -J wrong-" + collective);
        EXPECT_EQ(result.code, 1);
        const ForeignLog log = read_foreign_text(result.out);
        ASSERT_EQ(log.rows.size(), 1u);
        EXPECT_EQ(log.rows[0].out_of_place.wrong, "3");
        EXPECT_EQ(log.out_of_bounds_word, "FAILED");
        EXPECT_THAT(result.out, HasSubstr("WRONG RESULTS"));
        EXPECT_EQ(read_foreign_json(json("wrong-" + collective)).out_of_bounds_word, "FAILED");
    }
    EXPECT_EQ(bench("all_reduce -g 2 -b 4K -e 4K --inject-wrong 1 -c 0 --no-limit").code, 0)
        << "nobody looked";
}

TEST_F(BenchProgram, OptionsOfNcclTestsWork) {
    for (const char* options :
         {"-t 2 -g 2", "-G 2 -g 2", "-z 1 -g 2", "-z 3 -g 2 -m 3", "-C 1 -g 2", "-u 1 -g 2",
          "-N 2 -g 2", "-a 3 -p 1 -R 1 -x 1 -y 1 -T 60 -M 1 -g 2",
          "--nthreads 1 --ngpus 2 --warmup_iters 0"}) {
        SCOPED_TRACE(options);
        const BenchResult result =
            bench(std::string("all_reduce -b 1K -e 64K -f 64 --no-limit ") + options);
        EXPECT_EQ(result.code, 0) << result.out << result.error;
        EXPECT_THAT(read_foreign_text(result.out).rows, Not(IsEmpty()));
    }
    EXPECT_THAT(bench("all_reduce -g 2 -b 1K -e 1K -R 1 --no-limit").out,
                HasSubstr("-R was ignored"));
}

TEST_F(BenchProgram, SingleIterationsAndTimestamps) {
    const BenchResult result =
        bench("all_reduce -g 2 -b 1K -e 1K -I 1 -K 1 -S 1 -n 9 --no-limit -J run.json");
    EXPECT_EQ(result.code, 0) << result.error;
    EXPECT_THAT(result.out, AllOf(HasSubstr("i_min"), HasSubstr("i_cv%"), HasSubstr("timestamp")));
    EXPECT_EQ(read_foreign_text(result.out).rows.size(), 1u);
    const auto statistics = json("run.json").at("results")[0].at("in_place_per_iter");
    EXPECT_EQ(statistics.at("skipped_iterations"), 1);
    EXPECT_EQ(statistics.at("times_us").size(), 2u) << "bench() asks for -n 2 at the end";
    EXPECT_LE(statistics.at("min_us"), statistics.at("max_us"));
}

TEST_F(BenchProgram, AnExistingJsonFileIsKept) {
    write("run.json", "mine");
    const BenchResult result = bench("all_reduce -g 2 -b 1K -e 1K --no-limit -J run.json");
    EXPECT_EQ(file_contents(file("run.json")), "mine");
    EXPECT_THAT(result.out, HasSubstr("Writing JSON output to run.json.0"));
    EXPECT_EQ(read_foreign_json(json("run.json.0")).rows.size(), 1u);
}

TEST_F(BenchProgram, WrongUsageHasItsOwnExitCode) {
    for (const char* arguments : {"",
                                  "no_such_collective",
                                  "all_reduce -b nothing",
                                  "all_reduce -o median",
                                  "all_reduce -d real",
                                  "all_reduce -g 2 -r 2",
                                  "all_reduce --strategy pigeon",
                                  "all_reduce -g 2 --against pigeons",
                                  "all_reduce --min-speedup 5",
                                  "all_reduce -D 1",
                                  "all_reduce -G 1 -t 2",
                                  "all_reduce --against-log /no/such/file",
                                  "all_reduce -g 4 --topology 2",
                                  "all_reduce -g 2 --topology no_such_machine",
                                  "sendrecv -g 1",
                                  "batch_reduce -t 2",
                                  "batch_reduce -g 2 -G 1",
                                  "all_reduce -J /no/such/folder/run.json",
                                  "all_reduce --csv /no/such/folder/run.csv",
                                  "all_reduce --html /no/such/folder/run.html",
                                  "all_reduce --html /"}) {
        SCOPED_TRACE(arguments);
        const BenchResult result = bench(arguments);
        EXPECT_EQ(result.code, 2) << result.out;
        EXPECT_THAT(result.error, Not(IsEmpty()));
    }
    const BenchResult help = bench("--help");
    EXPECT_EQ(help.code, 0);
    EXPECT_THAT(help.out,
                AllOf(HasSubstr("Exit codes:"), HasSubstr("--against-log"), HasSubstr("-J")));
}

TEST_F(BenchProgram, AMachineThatTheEnvironmentAsksForInVainIsNamed) {
    const BenchResult result =
        run("VGPU_TOPOLOGY=pigeons timeout 60 '" RONDO_BENCH "' all_reduce -g 2 --gpu virtual");
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.error, HasSubstr("VGPU_TOPOLOGY is 'pigeons'"));
}

TEST_F(BenchProgram, OneFileThatCantBeWrittenDoesNotKeepTheOthersFromIt) {
    const BenchResult result = bench("all_reduce -g 2 -b 8 -e 8 --csv /dev/full --html run.html");
    EXPECT_EQ(result.code, 1);
    EXPECT_THAT(result.error, HasSubstr("/dev/full"));
    EXPECT_TRUE(std::filesystem::exists(file("run.html")));
}

TEST_F(BenchProgram, StrategiesAndTheirReasonsAreShown) {
    const BenchResult result = bench(
        "all_reduce -g 4 -b 1M -e 1M --topology dgx1_v100 --strategy all --explain --no-limit -J "
        "run.json");
    EXPECT_EQ(result.code, 0) << result.out << result.error;
    const ForeignLog log = read_foreign_text(result.out);
    ASSERT_GE(log.rows.size(), 5u);
    EXPECT_THAT(result.out, AllOf(HasSubstr("  ring "), HasSubstr("tree(2)"), HasSubstr("forest"),
                                  HasSubstr("prediction for dgx1_v100")));
    const nlohmann::json saved = json("run.json");
    for (const auto& row : saved.at("results")) {
        if (row.at("rondo").at("asked") == "automatic") {
            EXPECT_GT(row.at("rondo").at("simulated_us"), 0);
            EXPECT_TRUE(row.at("rondo").contains("reason"));
        }
    }
    EXPECT_THAT(bench("all_reduce -g 4 -b 1K -e 1K --no-limit --strategy tree:3").out,
                HasSubstr("tree(3)"));
}

TEST_F(BenchProgram, OfAllStrategiesThoseThatDoNotApplyAreLeftOut) {
    const BenchResult all = bench("gather -g 4 -b 1K -e 1K --strategy all --no-limit");
    EXPECT_EQ(all.code, 0) << all.out << all.error;
    EXPECT_THAT(all.out, HasSubstr("note: tree(2) was left out: tree(2) does not apply to gather"));
    EXPECT_THAT(read_foreign_text(all.out).rows, Not(IsEmpty()));
    EXPECT_EQ(bench("gather -g 4 -b 1K -e 1K --strategy tree:2 --no-limit").code, 1)
        << "it was asked for by name";
}

TEST_F(BenchProgram, OnGpusTheLimitIsWhatTheLinksCarry) {
    const BenchResult result =
        bench("all_reduce -g 8 -b 1M -e 1M --limit-by-links --topology dgx1_v100 -J run.json");
    EXPECT_EQ(result.code, 0) << result.out << result.error;
    EXPECT_THAT(result.out, HasSubstr("of the link limit at 1 MiB"));
    const auto row = json("run.json").at("results")[0].at("rondo");
    EXPECT_EQ(row.at("in_place").at("limit_us"),
              row.at("in_place").at("link_copies").at("median_us"));
    EXPECT_GT(row.at("topology_bound_us"), 0);
    EXPECT_LE(row.at("topology_bound_us"), row.at("simulated_us")) << "a bound";
}

TEST_F(BenchProgram, DemandsChangeTheExitCode) {
    EXPECT_EQ(bench("all_reduce -g 2 -b 64K -e 64K --min-limit-ratio 0.0001").code, 0);
    const BenchResult slow = bench("all_reduce -g 2 -b 64K -e 64K --min-limit-ratio 100");
    EXPECT_EQ(slow.code, 3);
    EXPECT_THAT(slow.out, HasSubstr("too slow: 64 KiB float, out of place"));
    EXPECT_EQ(bench("all_reduce -g 2 -b 64K -e 64K --no-limit --min-limit-ratio 0.1").code, 3)
        << "what was not measured was not reached";
    EXPECT_EQ(run("NCCL_TESTS_MIN_BW=1e9 '" RONDO_BENCH
                  "' all_reduce -g 2 -b 1K -e 1K --gpu virtual --no-limit --rounds 1")
                  .code,
              1);
}

TEST_F(BenchProgram, ASavedLogStandsBesideTheSimulatedTime) {
    write("text.log", sample_text_log());
    write("json.log", sample_json_log());
    const BenchResult result = bench(
        "all_reduce -g 8 -b 1K -e 1M -f 1024 --topology dgx1_v100 --no-limit --against-log "
        "text.log "
        "--against-log json.log -J run.json");
    EXPECT_EQ(result.code, 0) << result.out << result.error;
    EXPECT_THAT(result.out, AllOf(HasSubstr("log:text: saved by nccl-tests on 2 x Tesla V100"),
                                  HasSubstr("log:text: it is of 2 ranks, not of 8"),
                                  HasSubstr("set against the simulated time")));
    const auto row = json("run.json").at("results")[0];
    const auto peers = row.at("rondo").at("out_of_place").at("peers");
    ASSERT_EQ(peers.size(), 2u);
    EXPECT_EQ(peers[0].at("name"), "log:text");
    EXPECT_EQ(peers[0].at("kind"), "saved log");
    EXPECT_EQ(peers[0].at("time").at("median_us"), 12.5);
    EXPECT_EQ(peers[1].at("time").at("median_us"), 12.5);
    EXPECT_EQ(row.at("rondo").at("in_place").at("peers").size(), 1u)
        << "the JSON log has no time there";
}

TEST_F(BenchProgram, ALibraryWithNcclsInterfaceIsLoaded) {
    const BenchResult result = bench(
        "all_reduce -g 3 -b 4K -e 64K -f 16 --no-limit -J run.json --against 'nccl:" STAND_IN_NCCL
        "'");
    EXPECT_EQ(result.code, 0) << result.out << result.error;
    const auto peer = json("run.json").at("results")[1].at("rondo").at("in_place").at("peers")[0];
    EXPECT_EQ(peer.at("name"), "nccl");
    EXPECT_GT(peer.at("time").at("median_us"), 0);
    EXPECT_THAT(bench("all_reduce -g 2 -b 4K -e 4K --no-limit --against nccl:/no/such.so").out,
                HasSubstr("not compared with nccl:/no/such.so"));
    EXPECT_THAT(bench("all_reduce -g 2 -b 4K -e 4K --no-limit --against nccl").out,
                HasSubstr("NCCL itself needs GPUs"));
}

TEST_F(BenchProgram, GrowthIsPrintedAndPlotted) {
    const BenchResult result =
        bench("all_reduce --growth -g 6 -b 8 -e 64K -f 8192 --html growth.html -J growth.json");
    EXPECT_EQ(result.code, 0) << result.out << result.error;
    const auto points = json("growth.json").at("rondo").at("growth");
    ASSERT_EQ(points.size(), 8u) << "1, 2, 4 and 6 GPUs, two sizes";
    EXPECT_EQ(points[7].at("ranks"), 6);
    EXPECT_GT(points[7].at("time").at("median_us"), 0);
    EXPECT_THAT(result.out, HasSubstr("a communicator took at most"));
    EXPECT_THAT(file_contents(file("growth.html")), HasSubstr("id=\"growth-time\""));
}

TEST_F(BenchProgram, ModelsAreReducedAsABatch) {
    const BenchResult result =
        bench("batch_reduce -g 2 --tensors 1000,1,30000 --no-limit -J run.json");
    EXPECT_EQ(result.code, 0) << result.out << result.error;
    EXPECT_EQ(read_foreign_json(json("run.json")).rows.at(0).count, 31001u);
    EXPECT_THAT(result.out, HasSubstr("results are exact"));
}

}  // namespace
}  // namespace rondo::testing
