// How many thread instructions per second the PTX engine executes on one core, on converged code.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include "vgpu/ptx/engine.hpp"

namespace {

using namespace vgpu::ptx;

constexpr std::string_view text = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry integers(.param .u64 memory, .param .u32 turns)
{
    .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [memory]; ld.param.u32 %r1, [turns];
    mov.u32 %r2, %tid.x; mov.u32 %r3, 7; mov.u32 %r4, 3;
loop:
    mad.lo.s32 %r2, %r2, %r4, %r3; shr.u32 %r5, %r2, 3; xor.b32 %r3, %r3, %r5; and.b32 %r6, %r3, 15;
    add.s32 %r4, %r4, %r6; shf.l.wrap.b32 %r2, %r2, %r2, 5; add.s32 %r1, %r1, -1; setp.ne.s32 %p, %r1, 0;
    @%p bra loop;
    mul.wide.u32 %rd2, %r2, 0; add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r2; ret;
}
.visible .entry floats(.param .u64 memory, .param .u32 turns)
{
    .reg .pred %p; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [memory]; ld.param.u32 %r1, [turns];
    mov.u32 %r2, %tid.x; cvt.rn.f32.u32 %f1, %r2; mov.f32 %f2, 0f3F7FF000; mov.f32 %f3, 0f3F000000;
loop:
    fma.rn.f32 %f1, %f1, %f2, %f3; mul.rn.f32 %f4, %f1, 0f3F000000; add.rn.f32 %f5, %f4, %f3; fma.rn.f32 %f3, %f3, %f2, %f5;
    mul.rn.f32 %f3, %f3, 0f3E800000; min.f32 %f1, %f1, %f5; add.s32 %r1, %r1, -1; setp.ne.s32 %p, %r1, 0;
    @%p bra loop;
    st.global.f32 [%rd1], %f1; ret;
}
.visible .entry copies(.param .u64 memory, .param .u32 turns)
{
    .reg .pred %p; .reg .b32 %r<9>; .reg .f32 %f<4>; .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [memory]; ld.param.u32 %r1, [turns];
    mov.u32 %r2, %tid.x; mul.wide.u32 %rd2, %r2, 4; add.s64 %rd3, %rd1, %rd2;
loop:
    ld.global.f32 %f1, [%rd3]; add.f32 %f2, %f1, 0f3F800000; st.global.f32 [%rd3+32768], %f2;
    add.s32 %r1, %r1, -1; setp.ne.s32 %p, %r1, 0;
    @%p bra loop;
    ret;
}
)";

class OneBuffer final : public DeviceMemory {
public:
    void* allocate(int, std::size_t, std::size_t, std::string_view) override {
        return bytes_.data();
    }
    void release(int, void*) override {}
    bool resolve(int, std::uintptr_t address, MemoryRange& range) override {
        const auto base = reinterpret_cast<std::uintptr_t>(bytes_.data());
        range = {base, base + bytes_.size(), true};
        return address - base < bytes_.size();
    }
    const std::atomic<std::uint64_t>& changes() const override { return changes_; }
    std::string explain(int, std::uintptr_t, std::size_t) override { return "outside"; }
    std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(bytes_.data()); }

private:
    std::vector<std::byte> bytes_ = std::vector<std::byte>(1 << 20);
    std::atomic<std::uint64_t> changes_{0};
};

class NoWorld final : public Hooks {
public:
    void yield() override {}
    std::uint64_t global_timer_ns() override { return 0; }
    void print(std::string_view) override {}
};

/// Millions per second, the best of five runs of 256 threads.
double measure(const Kernel& kernel, const Image& image, OneBuffer& memory) {
    std::vector<std::byte> parameters(kernel.info().parameter_bytes);
    const std::uint64_t address = memory.address();
    const std::uint32_t turns = 20'000;
    std::memcpy(parameters.data() + kernel.info().parameters[0].offset, &address, sizeof address);
    std::memcpy(parameters.data() + kernel.info().parameters[1].offset, &turns, sizeof turns);
    NoWorld world;
    BlockContext context;
    context.block.x = 256;
    context.parameters = parameters;
    context.image = &image;
    context.memory = &memory;
    context.hooks = &world;
    double best = 0;
    for (int run = 0; run < 5; ++run) {
        const std::uint64_t before = kernel.counters().thread_instructions;
        const auto begin = std::chrono::steady_clock::now();
        kernel.run_block(context);
        const std::chrono::duration<double, std::micro> took =
            std::chrono::steady_clock::now() - begin;
        best = std::max(best, static_cast<double>(kernel.counters().thread_instructions - before) /
                                  took.count());
    }
    return best;
}

}  // namespace

int main() {
    OneBuffer memory;
    const auto module = Module::load(std::span(&text, 1));
    const auto image = module->place(0, memory);
    std::printf("PTX engine, one core, 256 threads: million thread instructions per second\n");
    for (const char* const name : {"integers", "floats", "copies"})
        std::printf("  %-10s %7.0f\n", name, measure(module->kernel(name), *image, memory));
    return 0;
}
