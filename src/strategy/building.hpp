// What builders of schedules have in common beyond lanes and channels.
#pragma once

#include "schedule/builder.hpp"
#include "strategy/strategy_entry.hpp"

namespace rondo {

/// The schedule without lanes: collective, ranks, destinations. Where the message has parts, each
/// is one unit, which a builder may replace; else units are up to the builder.
Schedule start_schedule(const BuildInput& input);

/// Cuts the message into equal units, unless the collective has fixed them already.
void cut_evenly(Schedule& schedule, std::uint32_t units);

/// Ranks that have an output of the unit.
std::vector<bool> wanted_by(const Schedule& schedule, std::uint32_t unit);

/// Throws Unsupported that names the strategy and the collective.
[[noreturn]] void refuse_collective(const BuildInput& input);
/// The same, unless the units are of the whole message, or belong to one rank each that folds them
/// or has them: what trees and rings can do.
void require_tree_collective(const BuildInput& input);

/// Up to here there is nothing to overlap: what could run in two lanes runs in one.
inline constexpr std::uint64_t small_message = 64 << 10;

}  // namespace rondo
