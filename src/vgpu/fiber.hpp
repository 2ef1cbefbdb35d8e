// A stack that code can be suspended on and resumed from any thread: what a block of a kernel runs
// in.
#pragma once

#include <cstddef>
#include <memory>

namespace vgpu {

/// A reusable stack with its saved registers, over Boost.Context. Tells ASan and TSan about every
/// switch. A fiber may be resumed by another thread than the one that ran it before, but runs on
/// one thread at a time; code on it must not keep addresses of thread-local variables across
/// suspend(), nor suspend inside a catch block.
class Fiber {
public:
    using Entry = void (*)(void* argument);

    Fiber();
    ~Fiber();
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    /// Runs entry(argument) on the fiber until it suspends or returns. Only when the last entry has
    /// finished. `entry` must not let an exception escape.
    void start(Entry entry, void* argument);
    /// Goes on after the last suspend(). Only when suspended.
    void resume();
    /// Called on the fiber: back to whoever started or resumed it.
    void suspend();

    bool finished() const { return finished_; }

private:
    void switch_in();
    void loop();

    struct Context;  // keeps Boost and the sanitizers out of this header
    std::unique_ptr<Context> context_;
    Entry entry_ = nullptr;
    void* argument_ = nullptr;
    bool finished_ = true;
    bool closing_ = false;
};

}  // namespace vgpu
