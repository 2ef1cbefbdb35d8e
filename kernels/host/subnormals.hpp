// Whether the processor takes subnormal floats for zeros, which a program that was built for fast
// mathematics may have told its threads. All of it is inlined: nothing may leave loops.cpp.
#pragma once

#include "kernels/platform.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace rondo::kernels {

#if defined(__x86_64__)
inline constexpr unsigned subnormals_as_zeros = 0x8040;  // inputs (bit 6) and results (bit 15)

RONDO_DEVICE unsigned float_modes() {
    return _mm_getcsr();
}
RONDO_DEVICE void set_float_modes(unsigned modes) {
    _mm_setcsr(modes);
}
#elif defined(__aarch64__)
inline constexpr unsigned subnormals_as_zeros = 1u << 24;  // inputs and results

RONDO_DEVICE unsigned float_modes() {
    return __builtin_aarch64_get_fpcr();
}
RONDO_DEVICE void set_float_modes(unsigned modes) {
    __builtin_aarch64_set_fpcr(modes);
}
#else
inline constexpr unsigned subnormals_as_zeros = 0;  // they count, as far as is known

RONDO_DEVICE unsigned float_modes() {
    return 0;
}
RONDO_DEVICE void set_float_modes(unsigned) {}
#endif

/// While it lives, subnormal floats count.
class SubnormalsCount {
public:
    RONDO_DEVICE SubnormalsCount() {
        if ((before_ & subnormals_as_zeros) != 0) {
            set_float_modes(before_ & ~subnormals_as_zeros);
        }
    }
    RONDO_DEVICE ~SubnormalsCount() {
        if ((before_ & subnormals_as_zeros) != 0) {
            set_float_modes(before_);
        }
    }
    SubnormalsCount(const SubnormalsCount&) = delete;
    SubnormalsCount& operator=(const SubnormalsCount&) = delete;

private:
    unsigned before_ = float_modes();
};

}  // namespace rondo::kernels
