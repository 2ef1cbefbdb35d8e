#include "vgpu/placement.hpp"

namespace vgpu {

cpu_set_t allowed_processors() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0) CPU_SET(0, &set);
    return set;
}

void leave_processor(int processor) {
    const cpu_set_t allowed = allowed_processors();
    cpu_set_t others = allowed;
    CPU_CLR(static_cast<unsigned>(processor), &others);
    if (CPU_COUNT(&others) == 0) return;
    if (sched_setaffinity(0, sizeof(others), &others) == 0)
        sched_setaffinity(0, sizeof(allowed), &allowed);
}

}  // namespace vgpu
