// Tells the processor that a loop only waits, so that it leaves its resources to others meanwhile.
#pragma once

namespace rondo {

inline void processor_pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");  // some tens of cycles, as x86's; "yield" takes none
#endif
}

}  // namespace rondo
