// The device side of a virtual GPU: what the body of a kernel may ask while it runs. Where am I?
// Wait for a flag. Is this access allowed? See vgpu/kernel.hpp for how a function becomes a kernel.
//
//     void body(std::uint32_t* flag, float* data) {
//         vgpu::wait_for_flag({.flag = flag, .wanted = 1});   // other blocks run meanwhile
//         data[vgpu::current_block().block_index.x] += 1;
//     }
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <vector_types.h>

#include "rondo/export.hpp"

namespace vgpu {

/// Where a running block is. Lives as long as the block runs.
struct BlockInfo {
    int device = 0;
    uint3 block_index{0, 0, 0};
    dim3 block_dim;
    dim3 grid_dim;
    const char* kernel = "";
    std::byte* dynamic_shared =
        nullptr;  ///< aligned to 16 bytes; as many bytes as the launch asked for
    std::size_t dynamic_shared_bytes = 0;
};

/// The block that the calling fiber runs. Calling it outside a kernel ends the program with a
/// message.
RONDO_API const BlockInfo& current_block() noexcept;

enum class WaitOutcome { ready, timed_out, aborted };

/// A wait for a 32-bit flag that only grows (modulo 2^32). `deadline_ns` is on the clock of
/// global_timer_ns(); 0 means none. `abort`, when not null, ends the wait as soon as it is not
/// zero.
struct FlagWait {
    const std::uint32_t* flag = nullptr;
    std::uint32_t wanted = 0;
    std::uint64_t deadline_ns = 0;
    const std::uint32_t* abort = nullptr;
    /// Instead of a deadline: so long after vgpu first had nothing better to do than to look at the
    /// clock. 0 means none. Spares the waiter the clock where the flag comes soon.
    std::uint64_t timeout_ns = 0;
};

namespace detail {

/// What makes the device side take its slow paths; set by vgpu, read by every block.
struct Instrumentation {
    std::atomic<bool> any{false};     ///< checks, block faults or a random schedule
    std::atomic<bool> access{false};  ///< accesses must be reported
};
RONDO_API extern Instrumentation instrumentation;

RONDO_API WaitOutcome wait_slowly(const FlagWait& wait);
RONDO_API void after_signal_slowly();
RONDO_API void preempt_slowly();

}  // namespace detail

/// True when anything makes the device side take its slow paths, checking() too. One relaxed load.
inline bool watching() noexcept {
    return detail::instrumentation.any.load(std::memory_order_relaxed);
}

/// Suspends the calling block until int32_t(*flag - wanted) >= 0 (read with acquire order), the
/// deadline passes or the abort flag is set. Other blocks run meanwhile. Does not return when the
/// block is killed (its device was lost, or a deadlock was found): the stack is unwound by an
/// exception that kernels must let pass.
inline WaitOutcome wait_for_flag(const FlagWait& wait) {
    if (!watching() && static_cast<std::int32_t>(__atomic_load_n(wait.flag, __ATOMIC_ACQUIRE) -
                                                 wait.wanted) >= 0) {
        return WaitOutcome::ready;
    }
    return detail::wait_slowly(wait);
}

/// Call after storing a flag that another block may wait for. Under random schedules the block may
/// be suspended here.
inline void after_signal() {
    if (watching()) detail::after_signal_slowly();
}

/// A place where a random schedule may suspend the block. Costs one relaxed load when there is no
/// random schedule.
inline void preemption_point() {
    if (watching()) detail::preempt_slowly();
}

/// Lets other blocks run; for blocks that wait for something that is no flag. Does not return when
/// the block is killed.
RONDO_API void yield_block();

/// Says that the block begins a piece of work that touches so many bytes. Large work, in one piece
/// or in many, makes vgpu wake its workers and spread the waiting blocks over them; small work
/// stays with the thread that runs it.
RONDO_API void announce_work(std::size_t bytes);

/// Nanoseconds, the same clock for all devices (what %globaltimer is on a GPU).
RONDO_API std::uint64_t global_timer_ns() noexcept;

enum class Access { read, write };

/// True when accesses must be reported with check_access(). One relaxed load.
inline bool checking() noexcept {
    return detail::instrumentation.access.load(std::memory_order_relaxed);
}

/// In checking mode: tells vgpu that the block reads or writes [address, address + bytes). If the
/// memory is not an allocation this block's device may touch now (out of bounds, freed, a peer that
/// is not enabled, a link that was cut) or the address is not a multiple of `alignment`, the error
/// is recorded with its reason, the device gets CUDA's sticky error (cudaErrorIllegalAddress,
/// cudaErrorMisalignedAddress, cudaErrorNvlinkUncorrectable for a cut link) and the block ends as
/// if killed.
RONDO_API void check_access(const void* address, std::size_t bytes, Access access,
                            std::size_t alignment = 1);

/// Ends the block as a device-side assertion does: the device gets the sticky error
/// cudaErrorAssert.
[[noreturn]] RONDO_API void fail_block(const char* reason);

}  // namespace vgpu
