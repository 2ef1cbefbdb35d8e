// The proof, also of what a brief call leaves out.
#pragma once

#include "rondo/schedule.hpp"
#include "schedule/brief.hpp"

namespace rondo {

/// As verify(schedule) of a schedule that validate() accepts, with brief calls that leave out what
/// `brief` says.
Verification verify(const Schedule& schedule, const BriefCall& brief);

}  // namespace rondo
