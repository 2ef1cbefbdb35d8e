// An entry of a module: what it needs, and how its blocks run.
#pragma once

#include <mutex>

#include "vgpu/ptx/code.hpp"
#include "vgpu/ptx/engine.hpp"
#include "vgpu/ptx/module.hpp"

namespace vgpu::ptx {

class LoadedKernel final : public Kernel {
public:
    LoadedKernel(const LinkedModule& module, Function& function)
        : module_(module), function_(function) {}

    const KernelInfo& info() const override;
    void run_block(const BlockContext& context) const override;
    const Counters& counters() const override { return counters_; }
    /// Decodes it and what it calls; throws Unsupported with all that can't run.
    void prepare() const;

private:
    void read_info() const;

    const LinkedModule& module_;
    Function& function_;
    mutable std::once_flag info_once_;
    mutable KernelInfo info_;
    mutable std::atomic<const Code*> code_{nullptr};
    mutable Counters counters_;
};

}  // namespace vgpu::ptx
