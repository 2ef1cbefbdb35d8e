// Saved logs of nccl-tests are read, in both formats, whatever stands between the rows.
#include "bench/tool/nccl_log.hpp"

#include <gmock/gmock.h>

#include "rondo/error.hpp"
#include "tests/bench/sample_logs.hpp"

namespace rondo::testing {
namespace {

using bench::NcclLog;
using bench::parse_nccl_log;
using ::testing::HasSubstr;

TEST(NcclLogText, RowsDevicesAndCollectiveAreRead) {
    const NcclLog log = parse_nccl_log(sample_text_log());
    EXPECT_EQ(log.collective, "all_reduce");
    EXPECT_EQ(log.ranks, 2);
    EXPECT_EQ(log.devices, "2 x Tesla V100-SXM2-32GB");
    ASSERT_EQ(log.rows.size(), 2u);
    EXPECT_EQ(log.rows[0].size, 1024u);
    EXPECT_EQ(log.rows[0].count, 256u);
    EXPECT_EQ(log.rows[0].type, "float");
    EXPECT_EQ(log.rows[0].op, "sum");
    EXPECT_EQ(log.rows[0].root, -1);
    EXPECT_EQ(log.rows[0].out_of_place->us, 12.5);
    EXPECT_EQ(log.rows[0].in_place->us, 11.25);
    EXPECT_EQ(log.rows[0].in_place->wrong, 0.0);
    EXPECT_EQ(log.rows[1].out_of_place->us, 120) << "a number with an exponent";
    EXPECT_EQ(log.rows[1].in_place->bus_bw, 10.49);
    EXPECT_FALSE(log.rows[1].in_place->wrong) << "N/A";
}

TEST(NcclLogText, LineEndingsOfWindowsChangeNothing) {
    std::string text = sample_text_log();
    for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) {
        text.insert(at, "\r");
    }
    const NcclLog log = parse_nccl_log(text);
    ASSERT_EQ(log.rows.size(), 2u);
    EXPECT_EQ(log.devices, "2 x Tesla V100-SXM2-32GB");
    EXPECT_EQ(log.collective, "all_reduce");
}

TEST(NcclLogText, ColumnsOfSingleIterationsAreSteppedOver) {
    const NcclLog log = parse_nccl_log(
        "# size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% time algbw "
        "busbw #wrong i_min i_max i_p99 i_cv%\n"
        "1024 256 float sum -1 12.5 0.1 0.2 0 1 2 3 4 11.5 0.3 0.4 5 6 7 8 9\n");
    ASSERT_EQ(log.rows.size(), 1u);
    EXPECT_EQ(log.rows[0].in_place->us, 11.5);
    EXPECT_EQ(log.rows[0].in_place->wrong, 5.0);
}

TEST(NcclLogText, TimestampsAndColumnsOfOthersAreLeftAlone) {
    const NcclLog log = parse_nccl_log(
        "1024 256 float sum -1 12.5 0.1 0.2 0 11.5 0.3 0.4 0 2026-07-01 10:00:00\n"
        "2048 512 float sum -1 13.5 0.1 0.2 0\n");
    ASSERT_EQ(log.rows.size(), 2u);
    EXPECT_EQ(log.rows[0].in_place->us, 11.5);
    EXPECT_FALSE(log.rows[1].in_place) << "a row that was cut off";
}

TEST(NcclLogText, WhatHasNoRowIsRefused) {
    for (const char* text :
         {"", "\n\n", "# size count\n", "no log at all\n", "1 2 3 4 5 6 7 8 9\n"}) {
        SCOPED_TRACE(text);
        EXPECT_THROW(parse_nccl_log(text), InvalidArgument);
    }
}

TEST(NcclLogJson, RowsDevicesAndCollectiveAreRead) {
    const NcclLog log = parse_nccl_log(sample_json_log());
    EXPECT_EQ(log.collective, "all_reduce");
    EXPECT_EQ(log.ranks, 8) << "one process lists only its first device";
    EXPECT_EQ(log.devices, "8 x NVIDIA H100");
    EXPECT_EQ(log.start_time, "2026-07-01 10:00:00");
    ASSERT_EQ(log.rows.size(), 2u);
    EXPECT_EQ(log.rows[0].root, -1);
    EXPECT_EQ(log.rows[0].out_of_place->us, 12.5);
    EXPECT_FALSE(log.rows[0].in_place) << "nan";
    EXPECT_FALSE(log.rows[1].out_of_place) << "null";
    EXPECT_EQ(log.rows[1].in_place->us, 100) << "CPU time";
    EXPECT_EQ(log.rows[1].in_place->wrong, 3.0);
}

TEST(NcclLogJson, BrokenFilesAreRefusedWithThePlace) {
    std::string text = sample_json_log();
    text.resize(text.size() / 2);
    try {
        parse_nccl_log(text);
        FAIL() << "half a file was taken";
    } catch (const InvalidArgument& error) {
        EXPECT_THAT(error.what(), HasSubstr("line"));
    }
    EXPECT_THROW(parse_nccl_log(R"({"results":[]})"), InvalidArgument);
    EXPECT_THROW(parse_nccl_log(R"({"results":7})"), InvalidArgument);
    EXPECT_THROW(bench::read_nccl_log("/no/such/file"), InvalidArgument);
}

}  // namespace
}  // namespace rondo::testing
