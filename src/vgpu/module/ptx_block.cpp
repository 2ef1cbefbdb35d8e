// Runs one block: arguments, clocks, output, faults.
#include "vgpu/module/ptx_block.hpp"

#include <array>
#include <cstdio>
#include <cstring>
#include <vector>

#include "vgpu/block.hpp"
#include "vgpu/executor.hpp"
#include "vgpu/machine.hpp"
#include "vgpu/module/device_module.hpp"
#include "vgpu/properties.hpp"

namespace vgpu {

namespace {

struct PtxKernel {
    std::shared_ptr<DeviceModule> module;
    const ptx::Kernel* kernel = nullptr;
    std::vector<std::size_t> argument_sizes, argument_offsets;
    MachineMemory memory{{}};
};

class FiberHooks : public ptx::Hooks {
public:
    void yield() override { yield_block(); }
    void preemption_point() override { vgpu::preemption_point(); }
    std::uint64_t global_timer_ns() override { return vgpu::global_timer_ns(); }
    void print(std::string_view text) override { std::fwrite(text.data(), 1, text.size(), stdout); }
};

cudaError_t error_of(ptx::FaultKind kind) {
    switch (kind) {
        case ptx::FaultKind::illegal_address:
        case ptx::FaultKind::race:
        case ptx::FaultKind::uninitialised:
            return cudaErrorIllegalAddress;
        case ptx::FaultKind::misaligned_address:
            return cudaErrorMisalignedAddress;
        case ptx::FaultKind::assertion:
            return cudaErrorAssert;
        case ptx::FaultKind::illegal_instruction:
            return cudaErrorIllegalInstruction;
        case ptx::FaultKind::deadlock:
            return cudaErrorLaunchTimeout;
        case ptx::FaultKind::trap:
        case ptx::FaultKind::stack_overflow:
            return cudaErrorLaunchFailure;
    }
    return cudaErrorLaunchFailure;
}

/// The arguments one behind the other, as the kernel's parameters lie.
class ParameterBytes {
public:
    ParameterBytes(const ptx::KernelInfo& info, void** arguments) {
        if (info.parameter_bytes > few_.size()) many_.resize(info.parameter_bytes);
        bytes_ = {many_.empty() ? few_.data() : many_.data(), info.parameter_bytes};
        for (std::size_t i = 0; i < info.parameters.size(); ++i) {
            const ptx::Parameter& each = info.parameters[i];
            std::memcpy(bytes_.data() + each.offset, arguments[i], each.bytes);
        }
    }
    std::span<const std::byte> bytes() const { return bytes_; }

private:
    alignas(16) std::array<std::byte, 256> few_;
    std::vector<std::byte> many_;
    std::span<std::byte> bytes_;
};

/// 64 zeroed bytes of the device's memory for as long as the launch lives: its blocks meet there.
std::uintptr_t grid_workspace(Machine& machine, Block& block) {
    constexpr std::size_t bytes = 64;
    const std::scoped_lock lock(machine.scheduler().mutex());
    std::shared_ptr<void>& workspace = block.launch->workspace;
    if (!workspace) {
        MemoryMap& memory = machine.memory();
        const Allocation what{.bytes = bytes, .device = block.info.device};
        void* const made = memory.allocate(what, false);
        if (made == nullptr) throw std::bad_alloc();
        std::memset(made, 0, bytes);
        workspace = {made, [&memory](void* pointer) { memory.release(pointer); }};
    }
    return reinterpret_cast<std::uintptr_t>(workspace.get());
}

ptx::Dim3 dimensions(const dim3& size) {
    return {size.x, size.y, size.z};
}

ptx::BlockContext context_of(Machine& machine, Block& block, const KernelCommand& command) {
    const BlockInfo& info = block.info;
    const Device& device = machine.device(info.device);
    ptx::BlockContext context;
    context.grid = dimensions(info.grid_dim);
    context.block = dimensions(info.block_dim);
    context.block_index = {info.block_index.x, info.block_index.y, info.block_index.z};
    context.device = info.device;
    context.dynamic_shared_bytes = info.dynamic_shared_bytes;
    if (machine.options().seed)
        context.seed = (*machine.options().seed * 0x9E3779B97F4A7C15u + block.launch_number) *
                           0xBF58476D1CE4E5B9u +
                       block.index + 1;
    context.clock_rate_khz = static_cast<std::uint64_t>(clock_rate_khz);
    context.multiprocessors = static_cast<unsigned>(device.properties.multiProcessorCount);
    context.multiprocessor = static_cast<unsigned>(block.index % context.multiprocessors);
    context.grid_id = block.launch_number;
    if (command.cooperative) context.grid_workspace = grid_workspace(machine, block);
    context.checks = {machine.options().check, machine.options().check};
    return context;
}

void run_ptx_block(void** arguments) {
    Block& block = *block_of_this_thread();
    Machine& machine = block.scheduler->machine();
    const auto& command = std::get<KernelCommand>(block.launch->command);
    // It lives for ever; only its memory is asked, which is thread safe.
    auto& kernel = *static_cast<PtxKernel*>(const_cast<void*>(command.kernel->description.context));
    const ParameterBytes parameters(kernel.kernel->info(), arguments);
    const std::shared_ptr<ptx::Image> image = kernel.module->image(machine, block.info.device);
    FiberHooks hooks;
    ptx::BlockContext context = context_of(machine, block, command);
    context.parameters = parameters.bytes();
    context.image = image.get();
    context.memory = &kernel.memory;
    context.hooks = &hooks;
    try {
        kernel.kernel->run_block(context);
    } catch (const ptx::Fault& fault) {
        machine.fail_device(block.info.device, error_of(fault.kind()), fault.what());
        throw BlockKilled{};
    }
}

}  // namespace

KernelDescription describe_ptx_kernel(std::shared_ptr<DeviceModule> module,
                                      const ptx::Kernel& kernel) {
    auto* const lasting = new PtxKernel{std::move(module), &kernel, {}, {}};
    const ptx::KernelInfo& info = kernel.info();
    for (const ptx::Parameter& each : info.parameters) {
        lasting->argument_sizes.push_back(each.bytes);
        lasting->argument_offsets.push_back(each.offset);
    }
    return {.name = info.name.c_str(),
            .run = &run_ptx_block,
            .argument_sizes = lasting->argument_sizes.data(),
            .argument_count = lasting->argument_sizes.size(),
            .max_threads_per_block = static_cast<int>(info.max_threads),
            .registers_per_thread = static_cast<int>(info.registers),
            .static_shared_bytes = info.static_shared_bytes,
            .context = lasting,
            .argument_offsets = lasting->argument_offsets.data()};
}

}  // namespace vgpu
