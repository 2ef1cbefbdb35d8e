// How often the API was called, counted by each thread for itself: one counter for all would cost
// every call a locked instruction.
#pragma once

#include <atomic>
#include <cstdint>

namespace vgpu {

/// The calls of one thread.
class CallCount {
public:
    CallCount();
    ~CallCount();  ///< what it counted still counts
    CallCount(const CallCount&) = delete;
    CallCount& operator=(const CallCount&) = delete;

    void add() {
        count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }

    /// Since the program began.
    static std::uint64_t of_all_threads();

private:
    std::atomic<std::uint64_t> count_{0};  // written by its thread alone
};

}  // namespace vgpu
