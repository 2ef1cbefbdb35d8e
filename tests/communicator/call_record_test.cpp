// Records of calls: whose they are, and that there are no more of them than needed.
#include "communicator/call_record.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "cuda/device_guard.hpp"

namespace rondo::test {
namespace {

using detail::CallRecord;
using detail::RecordPool;

class CallRecordTest : public testing::Test {
protected:
    /// As a call does: takes a record, records its event, gives it to a Work.
    CallRecord* call(bool with_memory = false) {
        CallRecord* const record = pool_.take();
        EXPECT_TRUE(record->pinned.empty());
        if (with_memory) record->pinned.push_back(std::move(*arena_.take_pinned(256)));
        all_.insert(record);
        record->event.record(stream_);
        record->number = ++calls_;
        record->has_work = true;
        pool_.put_back(record);
        last_.set(record);
        return record;
    }

    const DeviceId device_{0};
    const Machine machine_{std::vector<int>{0}};
    const DeviceGuard guard_{device_};
    const Stream stream_{device_};
    Arena arena_{machine_, {.scratch_bytes = 64, .table_bytes = 256, .pinned_bytes = 1 << 20}};
    RecordPool pool_{device_, 16};  // while something runs, drivers may not make events
    detail::LatestCall last_;
    std::set<CallRecord*> all_;
    std::uint64_t calls_ = 0;
};

TEST_F(CallRecordTest, CallsOneAfterTheOtherNeedTwoRecords) {
    for (int i = 0; i < 1000; ++i) call()->leave_work();
    EXPECT_EQ(all_.size(), 2u);  // the last one's, which the next is ordered behind, and the next
}

TEST_F(CallRecordTest, WhatAWorkRefersToIsNotUsedAgain) {
    std::set<CallRecord*> held;
    for (int i = 0; i < 100; ++i) {
        EXPECT_TRUE(held.insert(call()).second);
    }
    for (int i = 0; i < 1000; ++i) {
        CallRecord* const record = call();
        EXPECT_FALSE(held.contains(record));
        record->leave_work();
    }
}

TEST_F(CallRecordTest, WorksThatAreKeptForEverDoNotMakeThePoolGrow) {
    for (int i = 0; i < 100; ++i) call();
    for (int i = 0; i < 1000; ++i) call()->leave_work();
    const std::size_t before = all_.size();
    EXPECT_LE(before, 200u);
    for (int i = 0; i < 10000; ++i) call()->leave_work();
    EXPECT_EQ(all_.size(), before);
}

TEST_F(CallRecordTest, WorksInAnyOrderUseTheSameRecords) {
    std::vector<CallRecord*> held;
    for (int round = 0; round < 200; ++round) {
        for (int i = 0; i < 10; ++i) held.push_back(call());
        for (std::size_t i = 0; i < held.size(); i += 2) held[i]->leave_work();
        for (std::size_t i = 1; i < held.size(); i += 2) held[i]->leave_work();
        held.clear();
    }
    EXPECT_LE(all_.size(), 30u);
}

TEST_F(CallRecordTest, MemoryIsKeptWhileItsCallRuns) {
    const auto sleep = [](void* go) {
        while (__atomic_load_n(static_cast<int*>(go), __ATOMIC_ACQUIRE) == 0) {
        }
    };
    int go = 0;
    ASSERT_EQ(cudaLaunchHostFunc(stream_.get(), sleep, &go), cudaSuccess);
    std::set<CallRecord*> running;
    for (int i = 0; i < 8; ++i) {
        CallRecord* const record = call(true);
        EXPECT_TRUE(running.insert(record).second);
        record->leave_work();
    }
    __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
    stream_.synchronize();
    EXPECT_TRUE(pool_.free_memory());
    EXPECT_FALSE(pool_.free_memory());
    EXPECT_TRUE(running.contains(call(true)));
}

}  // namespace
}  // namespace rondo::test
