// Which lanes and slots are tried for a strategy.
#pragma once

#include <cstdint>
#include <vector>

#include "rondo/schedule.hpp"
#include "rondo/strategy.hpp"

namespace rondo {

/// Up to here one lane and one slot are best: there is nothing to overlap.
inline constexpr std::uint64_t small_message = 64 << 10;

inline constexpr std::uint64_t least_slot = 4 << 10;

/// A way to cut a strategy's work, before anybody knows how large its units are.
struct WayToCut {
    std::uint32_t lanes = 1;
    std::uint32_t depth = 2;
    std::uint32_t units_per_lane = 0;  ///< see Problem
    bool leaves_push = false;          ///< the same
    bool fetches = false;              ///< the same
    std::uint64_t slot_bytes = 0;      ///< 0: as large as `parts` says
    std::uint64_t parts = 1;           ///< of a unit

    /// For units of at most so many bytes. A power of two.
    std::uint64_t slot_for(std::uint64_t unit_bytes) const;
};

/// The message is that of a size class.
std::vector<WayToCut> ways_to_cut(const Strategy& strategy, Collective collective,
                                  std::uint64_t bytes, std::uint32_t ranks);

}  // namespace rondo
