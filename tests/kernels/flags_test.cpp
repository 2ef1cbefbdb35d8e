// Flags between kernels: barriers over all devices, waits that end at their deadline or by an
// abort, and what they leave behind.
#include <gmock/gmock.h>

#include "tests/kernels/launch_fixture.hpp"

namespace rondo::test {
namespace {

using namespace rondo::kernels;
using testing::AllOf;
using testing::HasSubstr;

/// One flag array and one failure record per rank.
class FlagLaunch : public LaunchTest {
protected:
    void SetUp() override {
        LaunchTest::SetUp();
        if (IsSkipped()) return;
        arguments_.ranks = static_cast<std::uint32_t>(ranks());
        for (std::size_t rank = 0; rank < ranks(); ++rank) {
            arguments_.flags[rank] = flags_.emplace_back(devices_[rank], ranks()).data();
            records_.emplace_back(devices_[rank], 1);
        }
    }

    void start_epoch(std::uint32_t epoch) {
        arguments_.epoch = epoch;
        for (std::size_t rank = 0; rank < ranks(); ++rank) {
            write(streams_[rank], flags_[rank], std::vector<std::uint32_t>(ranks(), epoch));
        }
    }

    void launch_rank(std::size_t rank, std::uint64_t timeout_ns) {
        arguments_.rank = static_cast<std::uint32_t>(rank);
        arguments_.limits = {.timeout_ns = timeout_ns,
                             .abort = abort_,
                             .records = records_[rank].device_span().data(),
                             .device = devices_[rank].value()};
        launch(find_barrier_kernel(), arguments_, streams_[rank],
               {.threads = 32, .cooperative = true});
    }

    void launch_all() {
        for (std::size_t rank = 0; rank < ranks(); ++rank) {
            launch_rank(rank, 20'000'000'000);
        }
        for (const Stream& stream : streams_) {
            stream.synchronize();
        }
    }

    std::string failure(std::size_t rank) const { return describe(records_[rank][0]); }

    BarrierArguments arguments_;
    std::vector<DeviceBuffer<std::uint32_t>> flags_;
    std::vector<PinnedBuffer<FailureRecord>> records_;
    const std::uint32_t* abort_ = nullptr;
};

TEST_F(FlagLaunch, BarrierOverAllDevices) {
    start_epoch(0);
    arguments_.rounds = 100;
    launch_all();
    for (std::size_t rank = 0; rank < ranks(); ++rank) {
        EXPECT_EQ(failure(rank), "");
        std::vector<std::uint32_t> expected(ranks(), 100);
        expected[rank] = 0;
        EXPECT_EQ(read(streams_[rank], flags_[rank]), expected) << "rank " << rank;
    }
}

TEST_F(FlagLaunch, FlagsMayPassTheEndOf32Bits) {
    start_epoch(0xfffffff0u);
    arguments_.rounds = 40;
    launch_all();
    for (std::size_t rank = 0; rank < ranks(); ++rank) {
        EXPECT_EQ(failure(rank), "");
    }
    if (ranks() > 1) {
        EXPECT_EQ(read(streams_[0], flags_[0])[1], 0xfffffff0u + 40);
    }
}

TEST_F(FlagLaunch, AWaitForAPeerThatNeverComesEndsAtItsDeadline) {
    if (ranks() < 2) GTEST_SKIP() << "needs two devices";
    start_epoch(41);
    for (std::size_t rank = 0; rank + 1 < ranks(); ++rank) {
        launch_rank(rank, 50'000'000);
    }
    const std::size_t missing = ranks() - 1;
    for (std::size_t rank = 0; rank < missing; ++rank) {
        streams_[rank].synchronize();
        EXPECT_THAT(failure(rank),
                    AllOf(HasSubstr("device " + std::to_string(rank) + ","), HasSubstr("block 0"),
                          HasSubstr("flag " + std::to_string(missing) + " "),
                          HasSubstr("to reach 42: it was 41 when the deadline passed")));
        EXPECT_GE(records_[rank][0].waited_ns, 50'000'000u);
    }
}

TEST_F(FlagLaunch, AbortEndsAllWaits) {
    if (ranks() < 2) GTEST_SKIP() << "needs two devices";
    const PinnedBuffer<std::uint32_t> abort(devices_[0], 1);
    abort_ = abort.device_span().data();
    start_epoch(0);
    launch_rank(0, 60'000'000'000);
    launch_rank(1, 60'000'000'000);
    store_release(&abort[0], 1);
    for (const std::size_t rank : {0, 1}) {
        streams_[rank].synchronize();
        if (ranks() > 2) {
            EXPECT_THAT(failure(rank), HasSubstr("when the call was aborted"));
        }
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
