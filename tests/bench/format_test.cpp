// Sizes, bandwidth rules, statistics and the outputs, without running anything.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "bench/tool/csv_output.hpp"
#include "bench/tool/html_report.hpp"
#include "bench/tool/json_output.hpp"
#include "bench/tool/nccl_log.hpp"
#include "bench/tool/text_table.hpp"
#include "bench/tool/verdict.hpp"
#include "rondo/error.hpp"
#include "tests/bench/nccl_format.hpp"

namespace rondo::testing {
namespace {

using namespace rondo::bench;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(BenchSizes, AreWrittenAsInNcclTests) {
    EXPECT_EQ(parse_bytes("8"), 8u);
    EXPECT_EQ(parse_bytes("32M"), 32u << 20);
    EXPECT_EQ(parse_bytes("1.5k"), 1536u);
    EXPECT_EQ(parse_bytes("2GB"), 2ull << 30);
    EXPECT_EQ(parse_bytes("4KiB"), 4096u);
    for (const char* text : {"", "M", "-1", "1T", "8 B", "nan", "1e400", "0x10", "99999999999G"}) {
        EXPECT_THROW(parse_bytes(text), InvalidArgument) << text;
    }
    EXPECT_EQ(bytes_text(8), "8 B");
    EXPECT_EQ(bytes_text(1536), "1.5 KiB");
    EXPECT_THAT(sizes_of({8, 1000, 1, 8}), ElementsAre(8, 64, 512));
    EXPECT_THAT(sizes_of({8, 24, 8, 1}), ElementsAre(8, 16, 24));
    EXPECT_THAT(sizes_of({0, 8, 8, 2}), ElementsAre(0)) << "0 times 2 is no progress";
    EXPECT_THROW(sizes_of({9, 8, 1, 1}), InvalidArgument);
    EXPECT_THROW(sizes_of({0, 1u << 30, 1, 1}), InvalidArgument);
}

TEST(BenchOperations, HaveNcclTestsCountsAndFactors) {
    using enum Operation;
    EXPECT_DOUBLE_EQ(bus_factor(all_reduce, 8), 2 * 7.0 / 8);
    EXPECT_DOUBLE_EQ(bus_factor(all_gather, 4), 3.0 / 4);
    EXPECT_DOUBLE_EQ(bus_factor(broadcast, 4), 1);
    EXPECT_EQ(shape_of(all_reduce, ElementType::f32, 8, 1026).count, 256u);
    EXPECT_EQ(shape_of(all_reduce, ElementType::f32, 8, 1026).bytes, 1024u);
    // A part is a multiple of 16 bytes.
    EXPECT_EQ(shape_of(all_gather, ElementType::f32, 3, 1000).count, 80u);
    EXPECT_EQ(shape_of(all_gather, ElementType::f32, 3, 1000).bytes, 960u);
    EXPECT_EQ(shape_of(reduce_scatter, ElementType::i8, 8, 8).count, 0u);
    EXPECT_EQ(parse_operation("all_reduce_perf"), all_reduce);
    EXPECT_EQ(parse_operation("alltoall"), all_to_all);
    EXPECT_THROW(parse_operation("all-reduce"), InvalidArgument);
    EXPECT_EQ(parse_nccl_type("half"), ElementType::f16);
    EXPECT_EQ(parse_nccl_type("bf16"), ElementType::bf16);
    EXPECT_EQ(parse_nccl_op("avg"), ReduceOp::mean);
    EXPECT_EQ(parse_nccl_op("mulsum"), ReduceOp::premul_sum);
    EXPECT_THROW(parse_nccl_type("real"), InvalidArgument);
    EXPECT_DOUBLE_EQ(least_traffic(all_reduce, 8, 10, false).total(), 160);
    EXPECT_DOUBLE_EQ(least_traffic(reduce, 8, 10, false).total(), 90);
    EXPECT_DOUBLE_EQ(least_traffic(all_gather, 8, 10, true).total(), 80);
}

TEST(BenchOperations, MoveTheLeastOverLinks) {
    const auto sums = [](Operation operation, int ranks, int root) {
        std::vector<std::uint64_t> in(4), out(4);
        for (const LinkTransfer& transfer : least_transfers(operation, ranks, root, 400)) {
            EXPECT_NE(transfer.from, transfer.to);
            out[static_cast<std::size_t>(transfer.from)] += transfer.bytes;
            in[static_cast<std::size_t>(transfer.to)] += transfer.bytes;
        }
        out.insert(out.end(), in.begin(), in.end());
        return out;  // sent by each rank, then received
    };
    using enum Operation;
    EXPECT_THAT(sums(all_reduce, 4, 0), ElementsAre(600, 600, 600, 600, 600, 600, 600, 600));
    EXPECT_THAT(sums(all_gather, 4, 0), ElementsAre(300, 300, 300, 300, 300, 300, 300, 300));
    EXPECT_THAT(sums(broadcast, 4, 1), ElementsAre(0, 400, 400, 400, 400, 0, 400, 400));
    EXPECT_THAT(sums(reduce, 4, 1), ElementsAre(400, 0, 400, 400, 0, 400, 400, 400));
    EXPECT_THAT(sums(gather, 4, 2), ElementsAre(100, 100, 0, 100, 0, 0, 300, 0));
    EXPECT_THAT(sums(sendrecv, 2, 0), ElementsAre(400, 400, 0, 0, 400, 400, 0, 0));
    EXPECT_THAT(least_transfers(all_reduce, 1, 0, 400), IsEmpty());
    EXPECT_THAT(least_transfers(sendrecv, 1, 0, 400), IsEmpty());
}

TEST(BenchStatistics, MedianQuartilesAndPercentiles) {
    EXPECT_EQ(spread_of({}).median, 0);
    const Spread spread = spread_of({5, 1, 4, 2, 3});
    EXPECT_EQ(spread.low, 2);
    EXPECT_EQ(spread.median, 3);
    EXPECT_EQ(spread.high, 4);
    std::vector<double> times{1000};  // skipped
    for (int i = 1; i <= 100; ++i) times.push_back(i);
    const IterationStatistics statistics = statistics_of(times, 1);
    EXPECT_EQ(statistics.minimum, 1);
    EXPECT_EQ(statistics.maximum, 100);
    EXPECT_EQ(statistics.p95, 95) << "nearest rank";
    EXPECT_EQ(statistics.p99, 99);
    EXPECT_DOUBLE_EQ(statistics.average, 50.5);
    EXPECT_EQ(statistics.times.size(), 101u) << "raw times are complete";
}

TEST(BenchNumbers, LoseDecimalsBeforeTheyGrowWider) {
    EXPECT_EQ(fitted(1.234, 7), "1.23");
    EXPECT_EQ(fitted(12345.678, 7), "12345.7");
    EXPECT_EQ(fitted(1234567.8, 7), "1234568");
    EXPECT_EQ(fitted(123456789.0, 7), "1.2e+08");
    EXPECT_EQ(fitted(12345678.0, 6), "1e+07");
}

/// Two sizes, two strategies, a peer that dies and a saved log.
Report sample_report() {
    Report report;
    report.header.version = "0.1.0";
    report.header.gpus = 4;
    report.header.topology = "dgx1_v100";
    report.header.sizes = {1024, 1048576, 1, 1024};
    report.header.rounds = 5;
    report.header.host = "somehost";
    report.header.arguments = {"rondo-bench", "all_reduce", "<script>\"&"};
    report.header.devices = {{0, 0, "0000:01:00", "GPU A"}, {1, 1, "0000:02:00", "GPU B"}};
    report.header.machine = {{"processor", "</script><b>"}};
    report.peers = {"openmpi", "log:real"};
    report.notes = {"a note with \"quotes\", commas and <angles>"};
    for (const std::uint64_t size : {1024u, 1048576u}) {
        for (const char* asked : {"automatic", "ring"}) {
            Half half{.us = {9.5, 10.25, 11},
                      .alg_bw = 1.5,
                      .bus_bw = 2.25,
                      .wrong = 0,
                      .loop_us = {7, 8, 9},
                      .hand_written_us = {8, 9, 10}};
            half.peers.push_back({.name = "openmpi", .us = {20, 20.5, 21}, .iterations = 5});
            half.peers.push_back({.name = "log:real", .us = {30, 30, 30}, .from_log = true});
            Row row{.size = size,
                    .count = size / 4,
                    .type = "float",
                    .op = "sum",
                    .out_of_place = half,
                    .in_place = half,
                    .iterations = 25,
                    .strategy = asked == std::string("ring") ? "ring" : "direct(2)",
                    .asked = asked,
                    .simulated_us = 15};
            report.rows.push_back(row);
        }
    }
    Half& last = *report.rows.back().in_place;
    last.peers[0] = {.name = "openmpi", .problem = "it was killed by signal 9"};
    last.wrong.reset();
    report.verdict = verdict_of(report);
    return report;
}

TEST(BenchText, IsReadByAScriptForNcclTests) {
    const Report report = sample_report();
    std::string text = header_text(report.header) + titles_text(report);
    for (const Row& row : report.rows) text += row_text(report, row);
    text += footer_text(report);
    const ForeignLog log = read_foreign_text(text);
    ASSERT_EQ(log.rows.size(), 4u);
    EXPECT_EQ(log.devices, 2);
    EXPECT_EQ(log.rows[3].size, 1048576u);
    EXPECT_EQ(log.rows[3].out_of_place.time, 10.25);
    EXPECT_EQ(log.rows[3].out_of_place.wrong, "0");
    EXPECT_EQ(log.rows[3].in_place.wrong, "N/A");
    EXPECT_EQ(log.out_of_bounds, 0);
    EXPECT_EQ(log.out_of_bounds_word, "OK");
    EXPECT_DOUBLE_EQ(log.average, 2.25);
    // Ours: strategy, simulated, share of the limit twice, spread (1.5 of 10.25 us) twice, then
    // each peer with its ratio, twice.
    EXPECT_THAT(log.rows[0].rest,
                ElementsAre("direct(2)", "15.00", "78.0", "78.0", "14.6", "14.6", "20.50", "2.00",
                            "20.50", "2.00", "30.00", "2.00", "30.00", "2.00"))
        << "a log is set against the simulated time";
    EXPECT_THAT(log.rows[3].rest, Not(IsEmpty()));
    EXPECT_THAT(text, HasSubstr("failed"));
    // Rondo's own reader of such logs reads Rondo's output too.
    EXPECT_EQ(parse_nccl_log(text).rows.size(), 4u);
    EXPECT_EQ(parse_nccl_log(text).collective, "all_reduce");
}

TEST(BenchText, NullHalvesKeepTheColumns) {
    Report report = sample_report();
    report.rows[0].in_place.reset();
    const ForeignLog log = read_foreign_text(row_text(report, report.rows[0]));
    ASSERT_EQ(log.rows.size(), 1u);
    EXPECT_EQ(log.rows[0].in_place.time, 0);
    EXPECT_EQ(log.rows[0].in_place.wrong, "N/A");
}

TEST(BenchJson, HasVersionThreeAndTheSameNumbersAsTheText) {
    const Report report = sample_report();
    const auto json = nlohmann::json::parse(to_json(report));
    const ForeignLog log = read_foreign_json(json);
    ASSERT_EQ(log.rows.size(), 4u);
    EXPECT_EQ(log.rows[0].out_of_place.time, 10.25);
    EXPECT_EQ(log.rows[3].in_place.wrong, "N/A");
    EXPECT_EQ(json.at("results")[0].at("rondo").at("out_of_place").at("limit_us"), 8);
    EXPECT_EQ(json.at("results")[3].at("rondo").at("in_place").at("peers")[0].at("problem"),
              "it was killed by signal 9");
    EXPECT_EQ(parse_nccl_log(to_json(report)).rows.size(), 4u);
}

TEST(BenchJson, WrongResultsAreSaid) {
    Report report = sample_report();
    report.rows[1].in_place->wrong = 7;
    report.verdict = verdict_of(report);
    EXPECT_EQ(nlohmann::json::parse(to_json(report)).at("out_of_bounds").at("okay"), "false");
    EXPECT_THAT(footer_text(report), HasSubstr("Out of bounds values : 7 FAILED"));
    EXPECT_THAT(report.verdict, HasSubstr("WRONG RESULTS: 7"));
    report.rows.clear();
    report.least_bus_bw = 1;
    EXPECT_TRUE(report.bus_bw_failed());
}

TEST(BenchCsv, HasOneLinePerHalf) {
    const std::string csv = to_csv(sample_report());
    EXPECT_EQ(std::ranges::count(csv, '\n'), 9);
    EXPECT_THAT(csv, HasSubstr("openmpi_us,openmpi_speedup,log:real_us,log:real_speedup\n"));
    EXPECT_THAT(csv, HasSubstr(",ring,10.25,9.5,11,1.5,2.25,0,15,8,9,"));
}

TEST(BenchHtml, HoldsTheJsonAndEscapesWhatOthersWrote) {
    const std::string html = to_html(sample_report());
    EXPECT_THAT(html, Not(HasSubstr("</script><b>"))) << "text of others must not become markup";
    EXPECT_THAT(html, HasSubstr("&lt;script&gt;&quot;&amp;"));
    EXPECT_THAT(html, HasSubstr("id=\"report-json\""));
    EXPECT_THAT(html, Not(HasSubstr("http://"))) << "no network";
    EXPECT_THAT(html, Not(HasSubstr("https://")));
    const auto begin = html.find('{', html.find("id=\"report-json\""));
    const auto json =
        nlohmann::json::parse(html.substr(begin, html.find("</script>", begin) - begin));
    EXPECT_EQ(json, nlohmann::json::parse(to_json(sample_report())));
}

TEST(BenchVerdict, SaysFromWhichSizeOnRondoIsFastest) {
    Report report = sample_report();
    EXPECT_THAT(report.verdict, HasSubstr("fastest of 2 at every size (beside openmpi)"));
    EXPECT_THAT(report.verdict, HasSubstr("0.78 of the memory limit at 1 MiB"));
    EXPECT_THAT(report.verdict, HasSubstr("results are exact"));
    report.rows[0].out_of_place->peers[0].us.median = 1;
    EXPECT_THAT(verdict_of(report), HasSubstr("fastest of 2 from 1 MiB on"));
    report.rows[2].in_place->peers[0].us.median = 1;
    EXPECT_THAT(verdict_of(report), HasSubstr("not the fastest of 2 at 1 MiB"));
    EXPECT_EQ(verdict_of(Report()), "");
}

TEST(BenchVerdict, DoubtsFiguresWhoseRoundsLieFarApart) {
    Report report = sample_report();
    EXPECT_THAT(report.verdict, Not(HasSubstr("busy")));
    for (Row& row : report.rows) row.out_of_place->us.high = row.in_place->us.high = 25;
    EXPECT_THAT(verdict_of(report), HasSubstr("the machine was busy"));
}

TEST(BenchDemands, NameEveryRowThatMissesThem) {
    const Report report = sample_report();
    EXPECT_THAT(missed_demands(report, {.limit_ratio = 0.7}), IsEmpty());
    EXPECT_EQ(missed_demands(report, {.limit_ratio = 0.9}).size(), 8u);
    EXPECT_EQ(missed_demands(report, {.speedups = {{"openmpi", 1.5}}}).size(), 1u)
        << "the half without a time";
    EXPECT_EQ(missed_demands(report, {.speedups = {{"openmpi", 3}}}).size(), 8u);
    EXPECT_EQ(missed_demands(report, {.speedups = {{"mpich", 1}}}).size(), 8u);
    EXPECT_THAT(missed_demands(report, {.speedups = {{"log:real", 2}}}), IsEmpty())
        << "a log is set against the simulated time";
    EXPECT_EQ(missed_demands(report, {.speedups = {{"log:real", 2.1}}}).size(), 8u);
}

}  // namespace
}  // namespace rondo::testing
