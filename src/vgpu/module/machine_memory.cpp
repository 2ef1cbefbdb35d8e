// Answers from the map of allocations.
#include "vgpu/module/machine_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "vgpu/machine.hpp"

namespace vgpu {

namespace {

void* allocate_zeroed(int device, std::size_t bytes, MemoryKind kind) {
    const Allocation what{.bytes = std::max<std::size_t>(bytes, 1), .kind = kind, .device = device};
    void* const memory = machine().memory().allocate(what, false);
    if (memory == nullptr) throw std::bad_alloc();
    std::memset(memory, 0, what.bytes);
    return memory;
}

}  // namespace

MachineMemory::MachineMemory(const std::vector<ptx::VariableInfo>& variables) {
    for (const ptx::VariableInfo& each : variables)
        if (each.managed) managed_.emplace(each.name, nullptr);
}

void* MachineMemory::allocate(int device, std::size_t bytes, std::size_t, std::string_view name) {
    const std::scoped_lock lock(mutex_);
    const auto managed = managed_.find(std::string(name));
    if (managed == managed_.end()) return allocate_zeroed(device, bytes, MemoryKind::device);
    if (managed->second == nullptr)
        managed->second = allocate_zeroed(device, bytes, MemoryKind::managed);
    return managed->second;
}

/// Managed memory stays: other devices have it too.
void MachineMemory::release(int, void* memory) {
    const std::scoped_lock lock(mutex_);
    for (const auto& [name, address] : managed_)
        if (address == memory) return;
    machine().memory().release(memory);
}

bool MachineMemory::resolve(int device, std::uintptr_t address, ptx::MemoryRange& range) {
    Machine& all = machine();
    const auto found = all.memory().find(reinterpret_cast<const void*>(address));
    if (!found || !denied(all, *found, device).empty()) return false;
    range = {found->begin, found->begin + found->bytes};
    return true;
}

const std::atomic<std::uint64_t>& MachineMemory::changes() const {
    return memory_changes();
}

std::string MachineMemory::explain(int device, std::uintptr_t address, std::size_t bytes) {
    Machine& all = machine();
    const auto found = all.memory().find(reinterpret_cast<const void*>(address));
    if (!found) return all.memory().explain(reinterpret_cast<const void*>(address));
    if (const std::string reason = denied(all, *found, device); !reason.empty()) return reason;
    return fmt::format("out of bounds: {} bytes past the end of {} bytes of {} of device {}",
                       address + bytes - (found->begin + found->bytes), found->bytes,
                       to_string(found->kind), found->device);
}

}  // namespace vgpu
