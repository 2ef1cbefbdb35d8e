// Other libraries beside Rondo: they take their turns, they may be missing, they may die.
#include <gmock/gmock.h>
#include <unistd.h>

#include "tests/bench/nccl_format.hpp"
#include "tests/bench/run_bench.hpp"

namespace rondo::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// One instance per peer; skipped where it was not installed when the project was built.
class BenchPeer : public BenchProgram, public ::testing::WithParamInterface<const char*> {
protected:
    void SetUp() override {
        const std::string program = std::filesystem::path(RONDO_BENCH).parent_path() /
                                    (std::string("rondo-bench-") + GetParam());
        if (access(program.c_str(), X_OK) != 0) {
            GTEST_SKIP() << GetParam() << " was not installed when the project was built";
        }
    }
};

TEST_P(BenchPeer, TakesItsTurns) {
    const std::string peer = GetParam();
    for (const std::string collective : {"all_reduce", "broadcast", "all_gather"}) {
        SCOPED_TRACE(collective);
        const BenchResult result = bench(collective + " -g 2 -b 4K -e 4K --no-limit -J " +
                                         collective + ".json --against " + peer);
        EXPECT_EQ(result.code, 0) << result.out << result.error;
        const auto row = json(collective + ".json").at("results").at(0);
        for (const char* half : {"out_of_place", "in_place"}) {
            const auto found = row.at("rondo").at(half).at("peers").at(0);
            EXPECT_EQ(found.at("name"), peer);
            EXPECT_EQ(found.at("kind"), "measured");
            EXPECT_GT(found.at("time").at("median_us"), 0) << found;
        }
        EXPECT_THAT(result.out, HasSubstr("of 2"));
    }
}

TEST_P(BenchPeer, KilledInTheMiddleIsSaidAndTheOthersGoOn) {
    const std::string peer = GetParam();
    const BenchResult result =
        bench("all_reduce -g 2 -b 4K -e 64K -f 4 --no-limit -J run.json --against " + peer +
              " --kill-peer " + peer + ":7");
    EXPECT_EQ(result.code, 0) << result.out << result.error;
    EXPECT_THAT(result.out, HasSubstr("# note: " + peer + ", from 4 KiB"));
    EXPECT_THAT(result.out, HasSubstr("failed"));
    const ForeignLog log = read_foreign_json(json("run.json"));
    ASSERT_EQ(log.rows.size(), 3u) << "all sizes were measured";
    EXPECT_GT(log.rows[2].in_place.time, 0);
    const auto last =
        json("run.json").at("results").at(2).at("rondo").at("in_place").at("peers").at(0);
    EXPECT_TRUE(last.contains("problem")) << last;
}

TEST_P(BenchPeer, WhatItDoesNotHaveIsSaidAndItStays) {
    const std::string peer = GetParam();
    const BenchResult result =
        bench("all_reduce -g 2 -b 4K -e 4K -d all --no-limit -J run.json --against " + peer);
    EXPECT_EQ(result.code, 0) << result.out << result.error;
    EXPECT_THAT(result.out, HasSubstr("it has no element type"));
    const auto results = json("run.json").at("results");
    const auto type = [&](const char* name) {
        for (const auto& row : results) {
            if (row.at("type") == name) return row.at("rondo").at("in_place").at("peers").at(0);
        }
        return nlohmann::json();
    };
    EXPECT_TRUE(type("half").contains("problem"));
    EXPECT_TRUE(type("double").contains("time")) << "it comes behind half";
}

INSTANTIATE_TEST_SUITE_P(, BenchPeer, ::testing::Values("openmpi", "mpich", "gloo"),
                         [](const auto& peer) { return peer.param; });

TEST_F(BenchProgram, APeerThatIsMissingIsNamedWithItsPackage) {
    // A copy of the program has no peers beside it.
    const BenchResult result =
        run("cp '" RONDO_BENCH
            "' alone && ./alone all_reduce -g 2 -b 4K -e 4K --gpu virtual --no-limit "
            "--rounds 1 --against openmpi --against gloo");
    EXPECT_EQ(result.code, 0) << result.error;
    EXPECT_THAT(result.out, HasSubstr("not compared with openmpi: "));
    EXPECT_THAT(result.out, HasSubstr("apt install openmpi-bin libopenmpi-dev"));
    EXPECT_THAT(result.out, HasSubstr("apt install libgloo-dev"));
    EXPECT_EQ(read_foreign_text(result.out).rows.size(), 1u);
}

TEST_F(BenchProgram, GpusThatAreNotThereAreSaid) {
    const BenchResult result = run("cp '" RONDO_BENCH "' alone && ./alone all_reduce --gpu cuda");
    EXPECT_EQ(result.code, 1);
    EXPECT_THAT(result.error, HasSubstr("rondo-bench-cuda is not there"));
    EXPECT_THAT(result.out, Not(HasSubstr("# Using devices")));
}

}  // namespace
}  // namespace rondo::testing
