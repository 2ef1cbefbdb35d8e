// From a schedule to device programs: which flags there are, what they count, and the steps as the
// kernel reads them.
#pragma once

#include <string>
#include <vector>

#include "kernels/program.hpp"
#include "rondo/schedule.hpp"

namespace rondo {

/// A flag that lowering derived: data or credit of a channel, or an event.
struct FlagInfo {
    enum class Kind { data, credit, event };
    Kind kind = Kind::data;
    std::uint32_t link = 0;         ///< the channel or event
    std::uint32_t writer_rank = 0;  ///< one
    std::uint32_t waiter_rank = 0;  ///< in whose memory it lies
    std::uint32_t per_chunk = 0;    ///< by how much a chunk raises it
};

/// Data and credit of channel c are 2c and 2c + 1; the events follow.
std::vector<FlagInfo> list_flags(const Schedule& schedule);

/// "data of channel 3 from rank 1": who is missing when a wait for it fails.
std::string describe(const FlagInfo& flag);

/// Where flags and slots lie, as the device of one rank sees them.
struct Placement {
    std::vector<std::uint32_t*> flags;    ///< as list_flags() numbers them
    std::vector<std::byte*> slots;        ///< of each channel
    std::uint32_t first_flag_number = 0;  ///< in reports
};

/// The arrays of one rank's kernels::Program.
struct LoweredProgram {
    std::vector<kernels::ProgramLane> lanes;
    std::vector<kernels::ProgramStep> steps;
    std::vector<kernels::ProgramSpan> spans;
    std::vector<kernels::ProgramFlag> flags;
};

/// The schedule must be verified.
LoweredProgram lower(const Schedule& schedule, std::uint32_t rank, const Placement& placement);

/// Prefix sums of unit_shares, for kernels::Program::unit_begins.
std::vector<std::uint64_t> unit_begins(const Schedule& schedule);

}  // namespace rondo
