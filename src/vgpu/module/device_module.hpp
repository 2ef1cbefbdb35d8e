// Device code that was loaded: linked PTX, and its variables on every device that uses it.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "vgpu/kernel.hpp"
#include "vgpu/module/machine_memory.hpp"
#include "vgpu/ptx/engine.hpp"

namespace vgpu {

class Machine;

class DeviceModule : public std::enable_shared_from_this<DeviceModule> {
public:
    /// Of each fatbin the PTX that fits the architecture best, linked. Throws ApiError, and says
    /// what the fatbins have, when one has no PTX or the texts are wrong.
    static std::shared_ptr<DeviceModule> from_fatbins(
        std::span<const std::span<const std::byte>> fatbins, int architecture);
    static std::shared_ptr<DeviceModule> from_text(std::string_view text);

    DeviceModule(std::shared_ptr<ptx::Module> code, int architecture);

    bool has_kernel(std::string_view name) const { return code_->has_kernel(name); }
    std::vector<std::string> kernels() const { return code_->kernels(); }
    /// What register_kernel() needs; valid for ever. Throws ApiError when the engine can't run it.
    KernelDescription describe(const std::string& name);

    struct Variable {
        void* address = nullptr;  ///< null when there is none of this name
        std::size_t bytes = 0;
    };
    Variable variable(Machine& machine, int device, std::string_view name);
    /// The variables on the device; placed there at first use.
    std::shared_ptr<ptx::Image> image(Machine& machine, int device);

private:
    std::shared_ptr<ptx::Module> code_;
    int architecture_;  // that the code is for; 0: not known
    MachineMemory memory_;
    std::mutex mutex_;
    std::uint64_t generation_ = 0;  // of the machine that the images are on
    std::unordered_map<int, std::shared_ptr<ptx::Image>> images_;
    std::unordered_map<std::string, KernelDescription> described_;
};

}  // namespace vgpu
