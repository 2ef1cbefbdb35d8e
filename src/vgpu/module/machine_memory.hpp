// The memory of the machine in force, as the PTX engine asks for it.
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "vgpu/ptx/engine.hpp"

namespace vgpu {

/// For one module. Variables that are managed exist once for all devices and the host.
class MachineMemory : public ptx::DeviceMemory {
public:
    explicit MachineMemory(const std::vector<ptx::VariableInfo>& variables);

    void* allocate(int device, std::size_t bytes, std::size_t alignment,
                   std::string_view name) override;
    void release(int device, void* memory) override;
    bool resolve(int device, std::uintptr_t address, ptx::MemoryRange& range) override;
    const std::atomic<std::uint64_t>& changes() const override;
    std::string explain(int device, std::uintptr_t address, std::size_t bytes) override;

    bool has_managed() const { return !managed_.empty(); }

private:
    std::mutex mutex_;
    std::unordered_map<std::string, void*> managed_;  // by name; null until it is allocated
};

}  // namespace vgpu
