// Any PTX text is either refused with an error or runs to an end, a fault or a limit; the process
// lives on.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "vgpu/ptx/engine.hpp"

namespace {

using namespace vgpu::ptx;

constexpr std::size_t most_bytes = std::size_t{1} << 20;

/// A little memory, nothing else may be touched.
class SmallMemory final : public DeviceMemory {
public:
    void* allocate(int, std::size_t bytes, std::size_t alignment, std::string_view) override {
        if (bytes + alignment > most_bytes - used_) throw std::bad_alloc();
        const auto base = reinterpret_cast<std::uintptr_t>(memory_.data());
        const std::uintptr_t address = (base + used_ + alignment - 1) / alignment * alignment;
        used_ = address + bytes - base;
        return reinterpret_cast<void*>(address);
    }
    void release(int, void*) override {}
    bool resolve(int, std::uintptr_t address, MemoryRange& range) override {
        const auto base = reinterpret_cast<std::uintptr_t>(memory_.data());
        range = {base, base + most_bytes, true};
        return address - base < most_bytes;
    }
    const std::atomic<std::uint64_t>& changes() const override { return changes_; }
    std::string explain(int, std::uintptr_t, std::size_t) override { return "outside"; }

private:
    std::vector<std::byte> memory_ = std::vector<std::byte>(most_bytes);
    std::size_t used_ = 0;
    std::atomic<std::uint64_t> changes_{0};
};

struct OutOfTime {};

class FewTurns final : public Hooks {
public:
    void yield() override {
        if (++turns_ > 3) throw OutOfTime{};
    }
    std::uint64_t global_timer_ns() override { return ++time_; }
    void print(std::string_view) override {}

private:
    int turns_ = 0;
    std::uint64_t time_ = 0;
};

void run(const Module& module, const std::string& name, const Image& image, DeviceMemory& memory) {
    const Kernel& kernel = module.kernel(name);
    const std::size_t bytes = kernel.info().parameter_bytes;
    if (bytes > most_bytes) return;
    const std::vector<std::byte> parameters(bytes);
    FewTurns hooks;
    BlockContext context;
    context.block.x = 40;
    context.parameters = parameters;
    context.dynamic_shared_bytes = 64;
    context.image = &image;
    context.memory = &memory;
    context.hooks = &hooks;
    kernel.run_block(context);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    SmallMemory memory;
    std::shared_ptr<Module> module;
    std::shared_ptr<Image> image;
    try {
        module = Module::load(std::span(&text, 1));
        image = module->place(0, memory);
    } catch (const Error&) {
        return 0;
    } catch (const std::bad_alloc&) {
        return 0;
    }
    for (const std::string& name : module->kernels()) {
        try {
            run(*module, name, *image, memory);
        } catch (const Error&) {
        } catch (const Fault&) {
        } catch (const OutOfTime&) {
        }
    }
    return 0;
}
