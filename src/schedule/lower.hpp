// From a schedule to device programs: which flags there are, what they count, and the steps as the
// kernel reads them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/program.hpp"
#include "rondo/schedule.hpp"
#include "schedule/brief.hpp"

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

/// Where the flags and slots of replica 0 lie, as the device of one rank sees them.
struct Placement {
    std::function<std::uint32_t*(std::size_t flag)> flag;  ///< as list_flags() numbers them
    std::function<std::byte*(std::size_t channel)> slots;  ///< the first
    std::uint32_t first_flag_number = 0;                   ///< in reports
};

/// The arrays of one rank's kernels::Program.
struct LoweredProgram {
    std::vector<kernels::ProgramLane> lanes;
    std::vector<kernels::ProgramStep> steps;
    std::vector<kernels::ProgramSpan> spans;
    std::vector<kernels::ProgramFlag> flags;
    std::vector<kernels::ProgramUnit> units;
};

/// Lowers a verified schedule rank by rank. Keeps a reference to it.
class Lowering {
public:
    explicit Lowering(const Schedule& schedule);

    const std::vector<FlagInfo>& flags() const { return flags_; }
    std::uint32_t lanes(std::uint32_t rank) const {
        return static_cast<std::uint32_t>(lanes_[rank].size());
    }
    LoweredProgram program(std::uint32_t rank, const Placement& placement) const;

private:
    const Schedule& schedule_;
    std::vector<FlagInfo> flags_;
    BriefCall brief_;
    std::vector<std::vector<std::size_t>> lanes_;  ///< of each rank
};

/// A rank passes on units of an all_to_all that it neither sends nor receives. Then all parts must
/// be of one length, because nobody tells it theirs.
bool relays(const Schedule& schedule);

}  // namespace rondo
