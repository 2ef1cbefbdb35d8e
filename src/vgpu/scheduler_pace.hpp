// How long the scheduler's threads spin, nap and leave work to each other. Found by measurement
// (docs/benchmarks.md); only speed depends on them.
#pragma once

#include <chrono>
#include <cstdint>

#include "vgpu/executor.hpp"

namespace vgpu::pace {

inline constexpr std::uint64_t microsecond = 1000;
/// Deferred work is due after one, so it starts within 100 us.
inline constexpr std::chrono::microseconds nap{35};
inline constexpr unsigned naps_before_search = 16;                       ///< for a deadlock
inline constexpr unsigned naps_before_park = 128;                        ///< without new work
inline constexpr std::uint64_t large_work_lasts = 100 * microsecond;     ///< after it was announced
inline constexpr std::uint64_t longest_large_work = 4000 * microsecond;  ///< workers spin meanwhile
inline constexpr std::uint64_t seeded_start_after = 10000 * microsecond;
inline constexpr unsigned spins_before_yield = 300;
inline constexpr unsigned yields_before_sleep = 100;
inline constexpr unsigned spins_before_stealing = 100;  ///< by who has nothing
inline constexpr unsigned spins_with_blocks = 250;      ///< by who has blocks, which all wait
/// At new work that is another thread's share.
inline constexpr unsigned looks_before_taking_all = 400;
inline constexpr unsigned runs_at_once = 16;  ///< of blocks, before a caller looks up
/// Between two looks at where the thread runs.
inline constexpr unsigned turns_on_one_processor = 64;

/// A block of its own that goes on soon is worth more than one whose data is in another's cache.
inline bool may_rob_others(unsigned idle, const Executor& executor) {
    return idle > spins_before_stealing && (idle > spins_with_blocks || executor.size() == 0);
}

}  // namespace vgpu::pace
