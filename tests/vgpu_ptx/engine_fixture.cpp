// The test machine.
#include "tests/vgpu_ptx/engine_fixture.hpp"

namespace vgpu::ptx::test {

void* TestMemory::allocate(int, std::size_t bytes, std::size_t alignment, std::string_view) {
    Allocation made{std::make_unique<std::byte[]>(bytes + alignment), bytes};
    const auto raw = reinterpret_cast<std::uintptr_t>(made.memory.get());
    const std::uintptr_t address = (raw + alignment - 1) / alignment * alignment;
    live_.emplace(address, std::move(made));
    return reinterpret_cast<void*>(address);
}

void TestMemory::release(int, void* memory) {
    ++changes_;
    live_.erase(reinterpret_cast<std::uintptr_t>(memory));
}

bool TestMemory::resolve(int, std::uintptr_t address, MemoryRange& range) {
    auto above = live_.upper_bound(address);
    if (above == live_.begin()) return false;
    --above;
    if (address - above->first >= above->second.bytes) return false;
    range = {above->first, above->first + above->second.bytes, true};
    return true;
}

std::string TestMemory::explain(int, std::uintptr_t, std::size_t) {
    return "outside every allocation";
}

void Machine::run(const Kernel& kernel, const Shape& shape,
                  const std::vector<std::byte>& parameters) {
    BlockContext context;
    context.grid = shape.grid;
    context.block = shape.block;
    context.parameters = parameters;
    context.dynamic_shared_bytes = shape.dynamic_shared;
    context.image = image.get();
    context.memory = &memory;
    context.hooks = &hooks;
    context.seed = seed;
    for (std::uint32_t z = 0; z < shape.grid.z; ++z) {
        for (std::uint32_t y = 0; y < shape.grid.y; ++y) {
            for (std::uint32_t x = 0; x < shape.grid.x; ++x) {
                context.block_index = {x, y, z};
                kernel.run_block(context);
            }
        }
    }
}

}  // namespace vgpu::ptx::test
