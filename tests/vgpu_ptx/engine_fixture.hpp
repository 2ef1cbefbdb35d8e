// A machine for the engine's tests: memory with bounds, hooks that remember, and blocks that run
// one after the other.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "vgpu/ptx/engine.hpp"

namespace vgpu::ptx::test {

class TestMemory final : public DeviceMemory {
public:
    void* allocate(int device, std::size_t bytes, std::size_t alignment,
                   std::string_view name) override;
    void release(int device, void* memory) override;
    bool resolve(int device, std::uintptr_t address, MemoryRange& range) override;
    const std::atomic<std::uint64_t>& changes() const override { return changes_; }
    std::string explain(int device, std::uintptr_t address, std::size_t bytes) override;

private:
    struct Allocation {
        std::unique_ptr<std::byte[]> memory;
        std::size_t bytes = 0;
    };
    std::map<std::uintptr_t, Allocation> live_;
    std::atomic<std::uint64_t> changes_{1};
};

class TestHooks final : public Hooks {
public:
    void yield() override {
        if (++yields > 100'000) throw std::runtime_error("the block waits for ever");
    }
    std::uint64_t global_timer_ns() override { return ++time; }
    void print(std::string_view text) override { printed += text; }

    std::uint64_t yields = 0;
    std::uint64_t time = 1'000'000;
    std::string printed;
};

/// A module on one device, and its kernels' launches.
class Machine {
public:
    explicit Machine(std::string_view text) : Machine(std::vector<std::string_view>{text}) {}
    explicit Machine(const std::vector<std::string_view>& texts)
        : module(Module::load(texts)), image(module->place(0, memory)) {}

    /// Device memory that holds `values`.
    template <class T>
    T* upload(const std::vector<T>& values) {
        auto* const to =
            static_cast<T*>(memory.allocate(0, values.size() * sizeof(T), 256, "test"));
        std::memcpy(to, values.data(), values.size() * sizeof(T));
        return to;
    }
    template <class T>
    std::vector<T> download(const T* from, std::size_t count) const {
        return std::vector<T>(from, from + count);
    }

    struct Shape {
        Dim3 grid, block;
        std::size_t dynamic_shared = 0;
    };
    /// Runs all blocks; arguments are packed as the kernel's parameters say.
    template <class... Arguments>
    void launch(std::string_view name, const Shape& shape, Arguments... arguments) {
        const Kernel& kernel = module->kernel(name);
        const KernelInfo& info = kernel.info();
        ASSERT_EQ(info.parameters.size(), sizeof...(arguments));
        std::vector<std::byte> parameters(info.parameter_bytes);
        std::size_t next = 0;
        ((std::memcpy(parameters.data() + info.parameters[next].offset, &arguments,
                      std::min(sizeof arguments, info.parameters[next].bytes)),
          ++next),
         ...);
        run(kernel, shape, parameters);
    }
    void run(const Kernel& kernel, const Shape& shape, const std::vector<std::byte>& parameters);

    TestMemory memory;
    TestHooks hooks;
    std::shared_ptr<Module> module;
    std::shared_ptr<Image> image;
    std::uint64_t seed = 0;
};

/// What launching says when it fails; empty if it does not.
template <class... Arguments>
std::string fault_of(Machine& machine, FaultKind kind, std::string_view name,
                     const Machine::Shape& shape, Arguments... arguments) {
    try {
        machine.launch(name, shape, arguments...);
    } catch (const Fault& fault) {
        EXPECT_EQ(fault.kind(), kind) << fault.what();
        return fault.what();
    }
    return "";
}

}  // namespace vgpu::ptx::test
