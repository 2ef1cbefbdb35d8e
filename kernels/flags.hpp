// Flags between blocks: how they are written, read and waited for, and the record that a failed
// wait leaves behind.
#pragma once

#include <cstdint>
#include <string>

#include <cuda/atomic>

#include "kernels/platform.hpp"

namespace rondo::kernels {

/// A flag lives in the waiter's memory and has one writer. It only grows, modulo 2^32.
using FlagRef = cuda::atomic_ref<std::uint32_t, cuda::thread_scope_system>;

/// All that the calling thread saw or wrote before happens before what a thread does that reads
/// this value with load_acquire().
RONDO_DEVICE void store_release(std::uint32_t* flag, std::uint32_t value) {
    FlagRef(*flag).store(value, cuda::std::memory_order_release);
}

RONDO_DEVICE std::uint32_t load_acquire(const std::uint32_t* flag) {
    return FlagRef(*const_cast<std::uint32_t*>(flag)).load(cuda::std::memory_order_acquire);
}

/// Tells nothing but the value.
RONDO_DEVICE std::uint32_t load_relaxed(const std::uint32_t* flag) {
    return FlagRef(*const_cast<std::uint32_t*>(flag)).load(cuda::std::memory_order_relaxed);
}

/// True also across the wrap of 32 bits, as long as the two are less than 2^31 apart.
RONDO_DEVICE bool has_reached(std::uint32_t seen, std::uint32_t wanted) {
    return static_cast<std::int32_t>(seen - wanted) >= 0;
}

enum class WaitFailure : std::uint32_t { none, timed_out, aborted };

/// Who waited for what, and got nothing. Lies in memory that the host reads while the kernel runs;
/// one record per block, so that nobody competes for it. `reason` is stored last, with release
/// order.
struct FailureRecord {
    std::uint32_t reason = 0;  ///< a WaitFailure
    std::int32_t device = 0;
    std::uint32_t block = 0;
    std::uint32_t flag_number = 0;
    std::uint32_t wanted = 0;
    std::uint32_t seen = 0;
    std::uint64_t flag_address = 0;
    std::uint64_t waited_ns = 0;
};

/// A wait until the flag reaches `wanted`. `number` is the flag's name in reports.
struct FlagWait {
    const std::uint32_t* flag = nullptr;
    std::uint32_t wanted = 0;
    std::uint32_t number = 0;
};

/// What ends a wait besides its flag. The same for all waits of a launch.
struct WaitLimits {
    std::uint64_t timeout_ns = 0;          ///< from the beginning of each wait; 0: none
    const std::uint32_t* abort = nullptr;  ///< ends all waits when it is not 0; may be null
    FailureRecord* records = nullptr;      ///< one per block of the launch; may be null
    std::int32_t device = 0;               ///< the device's number, for the record
};

/// Called by one thread of the block. `waited_ns` is how long it waited.
RONDO_DEVICE void write_failure(const WaitLimits& limits, const FlagWait& wait, WaitFailure reason,
                                std::uint32_t block, std::uint64_t waited_ns) {
    if (limits.records == nullptr) {
        return;
    }
    FailureRecord& record = limits.records[block];
    record.device = limits.device;
    record.block = block;
    record.flag_number = wait.number;
    record.wanted = wait.wanted;
    record.seen = load_acquire(wait.flag);
    record.flag_address = reinterpret_cast<std::uint64_t>(wait.flag);
    record.waited_ns = waited_ns;
    store_release(&record.reason, static_cast<std::uint32_t>(reason));
}

/// Several threads of the block waited, each for flags of its own, and some in vain: one thread
/// records the first flag that is missing. When all have come meanwhile, it is the last.
template <class FlagOf>
RONDO_DEVICE void write_first_failure(const WaitLimits& limits, std::uint32_t count, FlagOf flag_of,
                                      std::uint32_t block, std::uint64_t waited_ns) {
    std::uint32_t missing = 0;
    while (missing + 1 < count) {
        const FlagWait wait = flag_of(missing);
        if (!has_reached(load_acquire(wait.flag), wait.wanted)) {
            break;
        }
        ++missing;
    }
    const bool aborted = limits.abort != nullptr && load_acquire(limits.abort) != 0;
    write_failure(limits, flag_of(missing), aborted ? WaitFailure::aborted : WaitFailure::timed_out,
                  block, aborted || waited_ns > limits.timeout_ns ? waited_ns : limits.timeout_ns);
}

/// How often a spinning wait looks at its flag before it looks at the clock and at the abort word,
/// which lies in the host's memory: one look there takes as long as tens at the flag.
inline constexpr std::uint32_t spins_between_looks = 1024;

/// Spins until the flag is reached or a limit is; for executors whose threads may spin. `now` gives
/// nanoseconds, `pause` lets others run. What was reached is loaded once more with acquire order.
template <class Now, class Pause>
RONDO_DEVICE WaitFailure poll_flag(const FlagWait& wait, const WaitLimits& limits, Now now,
                                   Pause pause, std::uint64_t& waited_ns) {
    if (has_reached(load_acquire(wait.flag), wait.wanted)) {
        return WaitFailure::none;
    }
    const std::uint64_t begin = now();
    const auto is_reached = [&wait] {
        return has_reached(load_relaxed(wait.flag), wait.wanted) &&
               has_reached(load_acquire(wait.flag), wait.wanted);
    };
    WaitFailure failure = WaitFailure::none;
    std::uint32_t spins = 0;
    while (failure == WaitFailure::none && !is_reached()) {
        if (++spins % spins_between_looks == 0) {
            waited_ns = now() - begin;
            if (limits.abort != nullptr && load_acquire(limits.abort) != 0) {
                failure = WaitFailure::aborted;
            } else if (limits.timeout_ns != 0 && waited_ns > limits.timeout_ns) {
                failure = WaitFailure::timed_out;
            }
        }
        pause();
    }
    return failure;
}

/// "device 3, block 0 waited 1.5 s for flag 7 (at 0x7f...) to reach 12; it is 11". Empty
/// when the record holds no failure. Safe to call while the kernel runs.
std::string describe(const FailureRecord& record);

}  // namespace rondo::kernels
