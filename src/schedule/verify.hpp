// The proof, also of what lanes leave out.
#pragma once

#include "rondo/schedule.hpp"
#include "schedule/shortcuts.hpp"

namespace rondo {

/// As verify(schedule) of a schedule that validate() accepts, with kernels that leave out what
/// `shortcuts` says.
Verification verify(const Schedule& schedule, const Shortcuts& shortcuts);

}  // namespace rondo
