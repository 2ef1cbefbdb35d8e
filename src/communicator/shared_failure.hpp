// What ends a communicator and all that belongs to it: the word that its kernels watch, and the
// first cause.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <vector>

#include "base/spin_lock.hpp"
#include "cuda/buffer.hpp"

namespace rondo {

/// Whose kernels report failures.
class FailureReporter {
public:
    /// What the kernels have reported as an exception, or null. Never blocks. An AbortedError says
    /// that somebody else's failure ended them.
    virtual std::exception_ptr reported_failure() = 0;

protected:
    ~FailureReporter() = default;
};

/// Shared by a communicator and the pairs that send and receive for it: what ends one of them ends
/// all. Thread safe.
class SharedFailure {
public:
    explicit SharedFailure(DeviceId device) : abort_(device, 1) {}

    /// The word that ends all waits, as kernels on the device see it.
    std::uint32_t* abort_word(DeviceId device) const { return abort_.device_span(device).data(); }

    /// A reporter must be removed before it ends.
    void add(FailureReporter* reporter);
    void remove(FailureReporter* reporter) noexcept;

    /// Ends everything with this cause, unless there is one already.
    void set(std::exception_ptr cause) noexcept;
    bool is_set() const noexcept { return failed_.load(std::memory_order_acquire); }
    /// The first cause, also one that kernels have only just reported; or null. Never blocks.
    std::exception_ptr get();

private:
    /// A cause rather than its effect, if there is one.
    std::exception_ptr search();

    PinnedBuffer<std::uint32_t> abort_;
    SpinLock reporters_mutex_;
    std::vector<FailureReporter*> reporters_;
    std::mutex cause_mutex_;
    std::exception_ptr cause_;
    std::atomic<bool> failed_ = false;
};

}  // namespace rondo
