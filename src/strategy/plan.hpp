// What the planner answers: a schedule, how many replicas of it run with what slots, and why.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rondo/schedule.hpp"
#include "rondo/strategy.hpp"

namespace rondo {
/// How a schedule's work is spread over blocks and cut into chunks.
struct Partition {
    /// Of the schedule, side by side: replica r works on the r-th contiguous share of every unit,
    /// with flags and slots of its own. A rank runs replicas * (its lanes) blocks.
    std::uint32_t replicas = 1;
    /// Of a slot of one replica: bytes of a chunk of one replica's share of a unit. A multiple of
    /// 64.
    std::uint64_t slot_bytes = 0;

    bool operator==(const Partition&) const = default;
};

/// The best way that was found to do the request by one strategy.
struct PlanCandidate {
    Strategy strategy = {};
    Partition partition = {};
    double seconds = 0;
    /// False: it takes `seconds` or more, which is too much already.
    bool simulated = false;
    std::string problem = {};  ///< why it can't be done here; then seconds is 0
};

/// A value, the same on every rank. Nothing in it belongs to a device.
struct Plan {
    Strategy strategy = {};  ///< what was chosen; automatic only for a custom schedule
    Schedule schedule = {};
    Partition partition = {};
    std::uint32_t blocks = 1;  ///< of the rank that has most: its lanes, replicated
    double seconds = 0;        ///< predicted, for the largest message of the size class
    /// One per strategy that was considered, the fastest first; what can't be done last. The first
    /// is the one that was chosen.
    std::vector<PlanCandidate> candidates = {};
    std::string reason = {};  ///< in words, with the runner-up; explain() only
};

}  // namespace rondo
