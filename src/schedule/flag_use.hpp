// Which flags the steps of a schedule wait for and post, and at which values: channels and events
// without the data. Data and credit of channel c are flags 2c and 2c + 1; the events follow.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rondo/schedule.hpp"
#include "schedule/brief.hpp"

namespace rondo {

/// The value at chunk k of a call that begins at epoch E is (E + k) * per_chunk + offset.
struct FlagUse {
    std::uint32_t flag = 0;
    std::int64_t offset = 0;
    bool in_brief = true;  ///< brief calls have it too
};

/// What a step does besides moving data.
struct StepFlags {
    std::vector<FlagUse> waits = {};
    std::vector<FlagUse> posts = {};
    std::vector<std::uint32_t> pops = {};    ///< places in their channels, source by source
    std::vector<std::uint32_t> pushes = {};  ///< the same, destination by destination
};

struct FlagUses {
    std::vector<std::uint32_t> per_chunk = {};       ///< of each flag
    std::vector<std::vector<StepFlags>> steps = {};  ///< by lane
};

FlagUses flag_uses(const Schedule& schedule, const BriefCall& brief);

/// "data of channel 3 from lane 1"
std::string describe_flag(const Schedule& schedule, std::uint32_t flag);

}  // namespace rondo
