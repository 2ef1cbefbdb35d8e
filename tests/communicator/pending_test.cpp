// Records of calls: whose they are, and that there are no more of them than needed.
#include "communicator/pending.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "cuda/device_guard.hpp"

namespace rondo::test {
namespace {

using detail::Pending;
using detail::PendingPool;

class PendingTest : public testing::Test {
protected:
    /// As a call does: takes a record, records its event, gives it to a Work.
    Pending* call(bool with_table = false) {
        Pending* const pending = pool_.take(device_, last_, with_table);
        all_.insert(pending);
        pending->event.record(stream_);
        pending->has_work = true;
        pool_.put_back(pending);
        last_ = pending;
        return pending;
    }

    const DeviceId device_{0};
    const DeviceGuard guard_{device_};
    const Stream stream_{device_};
    PendingPool pool_;
    Pending* last_ = nullptr;
    std::set<Pending*> all_;
};

TEST_F(PendingTest, CallsOneAfterTheOtherNeedTwoRecords) {
    for (int i = 0; i < 1000; ++i) call()->leave_work();
    EXPECT_EQ(all_.size(), 2u);  // the last one's, which the next is ordered behind, and the next
}

TEST_F(PendingTest, WhatAWorkRefersToIsNotUsedAgain) {
    std::set<Pending*> held;
    for (int i = 0; i < 100; ++i) {
        EXPECT_TRUE(held.insert(call()).second);
    }
    for (int i = 0; i < 1000; ++i) {
        Pending* const pending = call();
        EXPECT_FALSE(held.contains(pending));
        pending->leave_work();
    }
}

TEST_F(PendingTest, WorksThatAreKeptForEverDoNotMakeThePoolGrow) {
    for (int i = 0; i < 100; ++i) call();
    for (int i = 0; i < 1000; ++i) call()->leave_work();
    const std::size_t before = all_.size();
    EXPECT_LE(before, 200u);
    for (int i = 0; i < 10000; ++i) call()->leave_work();
    EXPECT_EQ(all_.size(), before);
}

TEST_F(PendingTest, WorksInAnyOrderUseTheSameRecords) {
    std::vector<Pending*> held;
    for (int round = 0; round < 200; ++round) {
        for (int i = 0; i < 10; ++i) held.push_back(call());
        for (std::size_t i = 0; i < held.size(); i += 2) held[i]->leave_work();
        for (std::size_t i = 1; i < held.size(); i += 2) held[i]->leave_work();
        held.clear();
    }
    EXPECT_LE(all_.size(), 30u);
}

TEST_F(PendingTest, ATableIsNotWrittenWhileItsCallRuns) {
    const auto sleep = [](void* go) {
        while (__atomic_load_n(static_cast<int*>(go), __ATOMIC_ACQUIRE) == 0) {
        }
    };
    int go = 0;
    ASSERT_EQ(cudaLaunchHostFunc(stream_.get(), sleep, &go), cudaSuccess);
    std::set<Pending*> running;
    for (int i = 0; i < 8; ++i) {
        Pending* const pending = call(true);
        EXPECT_TRUE(running.insert(pending).second);
        pending->leave_work();
    }
    EXPECT_TRUE(running.contains(call(false)));  // without one it does not matter
    last_->leave_work();
    __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
    stream_.synchronize();
    EXPECT_TRUE(running.contains(call(true)));
}

}  // namespace
}  // namespace rondo::test
