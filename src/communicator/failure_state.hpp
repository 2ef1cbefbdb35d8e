// What ends a communicator: the word that its kernels watch, and the first cause.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>

#include "cuda/buffer.hpp"

namespace rondo {

/// Thread safe. No lock of it is held over a CUDA call.
class FailureState {
public:
    /// `search` tells what kernels have reported, as an exception, or null; it never blocks.
    FailureState(DeviceId device, std::function<std::exception_ptr()> search)
        : abort_(device, 1), search_(std::move(search)) {}

    /// The word that ends all waits, as kernels on the device see it.
    std::uint32_t* abort_word(DeviceId device) const { return abort_.device_span(device).data(); }

    /// Ends everything with this cause, unless there is one already.
    void set(std::exception_ptr cause) noexcept;
    bool is_set() const noexcept { return failed_.load(std::memory_order_acquire); }
    /// The first cause, or what kernels have reported so far, or null. Never blocks.
    std::exception_ptr get();

private:
    PinnedBuffer<std::uint32_t> abort_;
    const std::function<std::exception_ptr()> search_;
    std::mutex cause_mutex_;  ///< held for an assignment
    std::exception_ptr cause_;
    std::atomic<bool> failed_ = false;
};

}  // namespace rondo
