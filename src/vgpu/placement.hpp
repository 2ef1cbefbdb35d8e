// Where threads run. An operating system may leave a worker and the caller that it helps on one
// processor, while another is idle, for as long as both are busy: tenths of a second were seen.
#pragma once

#include <sched.h>

namespace vgpu {

/// The processors that the process may use.
cpu_set_t allowed_processors();

/// Moves the calling thread off `processor`, to any other that is allowed; no effect where there is
/// none. It may be moved back later.
void leave_processor(int processor);

}  // namespace vgpu
