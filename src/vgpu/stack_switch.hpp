// From one stack to another, on x86-64.
//
// Not Boost.Context's switch, because a fifth of the time of a small collective went there: that
// one also saves the floating-point modes, which nothing here changes (two slow loads), and is a
// function that is called on one stack and returned from on another, which makes the processor
// mispredict this and later returns. An all_reduce of 8 bytes on 8 virtual GPUs took 3.9 us with it
// and takes 3.1 us with this.
#pragma once

#include <cstddef>
#include <cstdint>

#if !defined(__x86_64__)
#error "vgpu switches stacks on x86-64 only; add the switch for this processor here"
#endif

// Registers that a compiler uses, and so may keep something in, only where it may use AVX-512.
#if defined(__AVX512F__)
#define VGPU_CLOBBERS_OF_AVX512                                                                   \
    , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25",   \
        "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k0", "k1", "k2", "k3", "k4", "k5", \
        "k6", "k7"
#else
#define VGPU_CLOBBERS_OF_AVX512
#endif

namespace vgpu {

/// What a new stack begins with. `argument` is that of the switch that leads there; the function
/// must not return.
using StackEntry = void (*)(void* argument);

/// Prepares a stack that ends at `top`, so that the first switch to what is returned calls `entry`.
inline void* make_stack(void* top, StackEntry entry) {
    // As right after a call: a return address lies at 8 below a multiple of 16.
    auto** const end = reinterpret_cast<void**>(reinterpret_cast<std::uintptr_t>(top) / 16 * 16);
    end[-1] = nullptr;
    end[-2] = reinterpret_cast<void*>(entry);
    return end - 2;
}

/// Leaves the present stack, stores where to go on in `*here`, and goes on at `there`, which is
/// what another switch stored or make_stack() returned. Comes back when somebody switches to
/// `*here`.
[[gnu::always_inline]] inline void switch_stack(void** here, void* there, void* argument) {
    asm volatile(
        "leaq -128(%%rsp), %%rsp\n\t"  // what a function without calls keeps below its stack
        "pushq %%rbp\n\t"
        "leaq 1f(%%rip), %%rax\n\t"
        "pushq %%rax\n\t"
        "movq %%rsp, (%%rsi)\n\t"
        "movq %%rdx, %%rsp\n\t"
        "popq %%rax\n\t"
        "jmpq *%%rax\n"
        "1:\n\t"
        "endbr64\n\t"
        "popq %%rbp\n\t"
        "leaq 128(%%rsp), %%rsp"
        : "+D"(argument), "+S"(here), "+d"(there)
        :
        : "rax", "rbx", "rcx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc",
          "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
          "xmm11", "xmm12", "xmm13", "xmm14", "xmm15" VGPU_CLOBBERS_OF_AVX512);
}

#undef VGPU_CLOBBERS_OF_AVX512

}  // namespace vgpu
