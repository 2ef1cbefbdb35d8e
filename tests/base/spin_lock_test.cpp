#include "base/spin_lock.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

namespace rondo::test {
namespace {

TEST(SpinLock, LetsOneThreadInAtATime) {
    SpinLock lock;
    long count = 0;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int turn = 0; turn < 20000; ++turn) {
                const std::lock_guard guard(lock);
                ++count;
            }
        });
    }
    threads.clear();
    EXPECT_EQ(count, 4 * 20000);
}

/// Longer than anybody spins or yields: whoever waits sleeps, and wakes again.
TEST(SpinLock, IsWaitedForHoweverLongItIsHeld) {
    SpinLock lock;
    bool done = false;
    lock.lock();
    std::jthread waiter([&] {
        const std::lock_guard guard(lock);
        done = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(done);
    lock.unlock();
    waiter.join();
    EXPECT_TRUE(done);
}

}  // namespace
}  // namespace rondo::test
