// A lock for what is held for a few instructions and almost never wanted by two threads at once:
// less than half the cost of std::mutex there.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "base/processor_pause.hpp"

namespace rondo {

/// Meets BasicLockable. Who waits for long after all sleeps now and then, so that it costs little.
class SpinLock {
public:
    void lock() {
        if (held_.exchange(true, std::memory_order_acquire)) [[unlikely]] {
            wait();
        }
    }
    void unlock() { held_.store(false, std::memory_order_release); }

private:
    [[gnu::cold, gnu::noinline]] void wait() {
        constexpr unsigned spins = 64;
        constexpr unsigned yields = 2000;
        unsigned looks = 0;
        do {
            if (looks < spins) {
                processor_pause();
            } else if (looks < spins + yields) {
                std::this_thread::yield();
            } else {
                std::this_thread::sleep_for(std::chrono::microseconds(50));
            }
            ++looks;
        } while (held_.exchange(true, std::memory_order_acquire));
    }

    std::atomic<bool> held_{false};
};

}  // namespace rondo
