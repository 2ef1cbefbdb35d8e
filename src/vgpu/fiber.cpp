// Stacks of fibers, and what the sanitizers are told. Between telling TSan about a switch and the
// switch itself no instrumented function may be entered, or TSan's shadow stack drifts.
#include "vgpu/fiber.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace vgpu {

namespace {

constexpr std::size_t stack_bytes =
    256 * 1024;  // committed page by page, so unused depth costs nothing

/// Stacks begin at different offsets in their top page; otherwise the hot lines of all fibers would
/// fall into the same few sets of the first-level cache.
std::size_t next_offset() {
    static std::atomic<std::size_t> count{0};
    constexpr std::size_t line = 64, stride = 7, lines = 48;
    return count.fetch_add(1, std::memory_order_relaxed) * stride % lines * line;
}

/// A mapped stack with a guard page below it.
class Stack {
public:
    Stack() : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))), bytes_(stack_bytes + page_) {
        base_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
        if (base_ == MAP_FAILED) throw std::bad_alloc();
        mprotect(base_, page_, PROT_NONE);
    }
    ~Stack() {
#if defined(__SANITIZE_ADDRESS__)
        // The last frames were abandoned, not left: the next mapping here must not inherit their
        // poison.
        __asan_unpoison_memory_region(base_, bytes_);
#endif
        munmap(base_, bytes_);
    }
    Stack(const Stack&) = delete;
    Stack& operator=(const Stack&) = delete;

    char* bottom() const {
        return static_cast<char*>(base_) + page_;
    }
    char* top() const {
        return static_cast<char*>(base_) + bytes_ - offset_;
    }
    std::size_t usable() const {
        return stack_bytes - offset_;
    }

private:
    std::size_t page_;
    std::size_t bytes_;
    std::size_t offset_ = next_offset();
    void* base_;
};

}  // namespace

struct Fiber::Memory {
    Stack stack;
#if defined(__SANITIZE_ADDRESS__)
    void* inside_fake_stack = nullptr;
    void* outside_fake_stack = nullptr;
    const void* outside_bottom = nullptr;
    std::size_t outside_size = 0;
#endif
#if defined(__SANITIZE_THREAD__)
    void* inside_tsan = __tsan_create_fiber(0);
    void* outside_tsan = nullptr;
    ~Memory() {
        __tsan_destroy_fiber(inside_tsan);
    }
#endif

    void arrived_inside() {
#if defined(__SANITIZE_ADDRESS__)
        __sanitizer_finish_switch_fiber(inside_fake_stack, &outside_bottom, &outside_size);
#endif
    }
};

Fiber::Fiber() : memory_(std::make_unique<Memory>()) {
    inside_ = make_stack<&Fiber::begin>(memory_->stack.top());
}

void Fiber::begin(void* fiber) {
    auto* const self = static_cast<Fiber*>(fiber);
    self->memory_->arrived_inside();
    self->loop();
    std::abort();  // it was told that nobody resumes it
}

Fiber::~Fiber() {
    closing_ = true;
    if (entry_ != nullptr)
        switch_in();  // lets loop() end, so that the sanitizers see the stack empty
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
__attribute__((no_sanitize("thread"), noinline)) void Fiber::switch_in() {
#if defined(__SANITIZE_ADDRESS__)
    Memory& memory = *memory_;
    __sanitizer_start_switch_fiber(&memory.outside_fake_stack, memory.stack.bottom(),
                                   memory.stack.usable());
#endif
#if defined(__SANITIZE_THREAD__)
    memory_->outside_tsan = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(memory_->inside_tsan, 0);
#endif
    switch_stack(&outside_, inside_, this);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(memory.outside_fake_stack, nullptr, nullptr);
#endif
}

__attribute__((no_sanitize("thread"), noinline)) void Fiber::suspend() {
#if defined(__SANITIZE_ADDRESS__)
    Memory& memory = *memory_;
    __sanitizer_start_switch_fiber(closing_ ? nullptr : &memory.inside_fake_stack,
                                   memory.outside_bottom, memory.outside_size);
#endif
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(memory_->outside_tsan, 0);
#endif
    switch_stack(&inside_, outside_, nullptr);
    memory_->arrived_inside();
}
#endif

void Fiber::loop() {
    while (!closing_) {
        entry_(argument_);
        finished_ = true;
        suspend();
    }
    suspend();  // never resumed again
}

}  // namespace vgpu
