// A stack that code can be suspended on and resumed from any thread: what a block of a kernel runs
// in.
#pragma once

#include <cstddef>
#include <memory>

#include "vgpu/stack_switch.hpp"

namespace vgpu {

/// A reusable stack with its saved registers. Tells ASan and TSan about every switch.
/// Floating-point modes must not be changed across suspend(): on some processors they are the
/// thread's, on others the fiber's. A fiber may be resumed by another thread than the one
/// that ran it before, but runs on one thread at a time; code on it must not keep addresses of
/// thread-local variables across suspend(), nor suspend inside a catch block.
///
/// Switches are inline, as should be what is around them: a processor predicts the returns of
/// functions by their calls, so each function that was called on one stack and returns after a
/// switch costs a misprediction.
class Fiber {
public:
    using Entry = void (*)(void* argument);

    Fiber();
    ~Fiber();
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    /// Runs entry(argument) on the fiber until it suspends or returns. Only when the last entry has
    /// finished. `entry` must not let an exception escape.
    void start(Entry entry, void* argument) {
        entry_ = entry;
        argument_ = argument;
        finished_ = false;
        switch_in();
    }
    /// Goes on after the last suspend(). Only when suspended.
    void resume() { switch_in(); }
    /// Called on the fiber: back to whoever started or resumed it.
    void suspend();

    bool finished() const { return finished_; }

private:
    void switch_in();
    void loop();
    [[noreturn]] static void begin(void* fiber);

    struct Memory;  // the stack, and what the sanitizers want to know
    std::unique_ptr<Memory> memory_;
    void* inside_ = nullptr;   // where the fiber goes on
    void* outside_ = nullptr;  // where its resumer goes on
    Entry entry_ = nullptr;
    void* argument_ = nullptr;
    bool finished_ = true;
    bool closing_ = false;
};

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
inline void Fiber::switch_in() {
    switch_stack(&outside_, inside_, this);
}

inline void Fiber::suspend() {
    switch_stack(&inside_, outside_, nullptr);
}
#endif

}  // namespace vgpu
