// Flags between kernels: ranks that meet on all devices, waits that end at their deadline or by an
// abort, and what they leave behind.
#include <gmock/gmock.h>

#include "kernels/step_program.hpp"
#include "tests/kernels/launch_fixture.hpp"

namespace rondo::test {
namespace {

using namespace rondo::kernels;
using testing::AllOf;
using testing::HasSubstr;

/// Ranks that enter calls of nothing: each waits for all.
class FlagLaunch : public LaunchTest {
protected:
    void connect(std::uint32_t first_call) {
        for (const DeviceId device : devices_) programs_.emplace_back(device);
        StepProgram::connect(programs_, first_call);
    }
    void enter(std::size_t rank, std::uint64_t timeout_ns) {
        programs_[rank].enter(static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(ranks()),
                              streams_[rank], timeout_ns);
    }
    void enter_all(int times) {
        for (int i = 0; i < times; ++i) {
            for (std::size_t rank = 0; rank < ranks(); ++rank) enter(rank, 20'000'000'000);
        }
        for (const Stream& stream : streams_) stream.synchronize();
    }

    std::vector<StepProgram> programs_;
};

TEST_F(FlagLaunch, RanksOfAllDevicesMeet) {
    connect(0);
    enter_all(100);
    for (std::size_t rank = 0; rank < ranks(); ++rank) {
        EXPECT_EQ(programs_[rank].failure(), "");
        EXPECT_EQ(programs_[rank].calls(), 100u) << "rank " << rank;
    }
}

TEST_F(FlagLaunch, FlagsMayPassTheEndOf32Bits) {
    connect(0xfffffff0u);
    enter_all(40);
    for (std::size_t rank = 0; rank < ranks(); ++rank) {
        EXPECT_EQ(programs_[rank].failure(), "");
        EXPECT_EQ(programs_[rank].calls(), 0xfffffff0u + 40) << "rank " << rank;
    }
}

TEST_F(FlagLaunch, AWaitForAPeerThatNeverComesEndsAtItsDeadline) {
    if (ranks() < 2) GTEST_SKIP() << "needs two devices";
    connect(41);
    const std::size_t missing = ranks() - 1;
    for (std::size_t rank = 0; rank < missing; ++rank) enter(rank, 50'000'000);
    for (std::size_t rank = 0; rank < missing; ++rank) {
        streams_[rank].synchronize();
        EXPECT_THAT(programs_[rank].failure(),
                    AllOf(HasSubstr("device " + std::to_string(rank) + ","), HasSubstr("block 0"),
                          HasSubstr("flag " + std::to_string(missing) + " "),
                          HasSubstr("to reach 42: it was 41 when the deadline passed")));
        EXPECT_GE(programs_[rank].record().waited_ns, 50'000'000u);
        EXPECT_EQ(programs_[rank].calls(), 41u);
    }
}

TEST_F(FlagLaunch, AbortEndsAllWaits) {
    if (ranks() < 3) GTEST_SKIP() << "needs three devices";
    connect(0);
    for (const std::size_t rank : {0, 1}) enter(rank, 60'000'000'000);
    for (const std::size_t rank : {0, 1}) store_release(&programs_[rank].abort_word(), 1);
    for (const std::size_t rank : {0, 1}) {
        streams_[rank].synchronize();
        EXPECT_THAT(programs_[rank].failure(), HasSubstr("when the call was aborted"));
    }
}

TEST(FailureRecord, SaysNothingWhenNothingFailed) {
    EXPECT_EQ(describe(FailureRecord{}), "");
}

TEST(FailureRecord, NamesDeviceBlockAndFlag) {
    const FailureRecord record{.reason = static_cast<std::uint32_t>(WaitFailure::timed_out),
                               .device = 3,
                               .block = 5,
                               .flag_number = 7,
                               .wanted = 12,
                               .seen = 11,
                               .flag_address = 0x1234,
                               .waited_ns = 1'500'000};
    EXPECT_EQ(describe(record),
              "device 3, block 5 waited 1.500 ms for flag 7 (at 0x1234) to reach 12: it "
              "was 11 when the deadline passed");
}

TEST(Flags, ReachedIsTrueAcrossTheWrap) {
    EXPECT_TRUE(has_reached(5, 5));
    EXPECT_TRUE(has_reached(6, 5));
    EXPECT_FALSE(has_reached(4, 5));
    EXPECT_TRUE(has_reached(2, 0xfffffffeu));
    EXPECT_FALSE(has_reached(0xfffffffeu, 2));
}

}  // namespace
}  // namespace rondo::test
