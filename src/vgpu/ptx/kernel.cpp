// Kernels: their limits, and one run per block.
#include "vgpu/ptx/kernel.hpp"

#include <algorithm>

#include "vgpu/ptx/block_run.hpp"

namespace vgpu::ptx {
namespace {

/// More than any GPU has.
constexpr std::size_t most_shared_bytes = std::size_t{1} << 20;

struct CountAtEnd {
    Counters& counters;
    const BlockRun& block;
    ~CountAtEnd() {
        std::uint64_t warp_instructions = 0, thread_instructions = 0;
        for (const auto& warp : block.warps()) {
            warp_instructions += warp->instructions;
            thread_instructions += warp->thread_instructions;
        }
        counters.blocks.fetch_add(1, std::memory_order_relaxed);
        counters.warp_instructions.fetch_add(warp_instructions, std::memory_order_relaxed);
        counters.thread_instructions.fetch_add(thread_instructions, std::memory_order_relaxed);
        counters.yields.fetch_add(block.yields, std::memory_order_relaxed);
    }
};

}  // namespace

void LoadedKernel::read_info() const {
    const FunctionText& text = *function_.text;
    const std::lock_guard lock(module_.mutex_);
    if (function_.code == nullptr) function_.code = decode(module_, text);
    const Code& code = *function_.code;
    info_.name = text.name;
    info_.parameters = layout_of(text.prototype.parameters);
    if (!info_.parameters.empty())
        info_.parameter_bytes = info_.parameters.back().offset + info_.parameters.back().bytes;
    if (code.shared_end > most_shared_bytes)
        throw Error(text.name + " has " + std::to_string(code.shared_end) +
                    " bytes of shared memory");
    info_.static_shared_bytes = code.shared_end;
    info_.local_bytes = code.local_bytes;
    const auto limit = [](const Dim3& extents) {
        return static_cast<unsigned>(std::min<std::uint64_t>(extents.count(), 1024));
    };
    if (text.max_threads.x != 0) info_.max_threads = limit(text.max_threads);
    if (text.required_threads.x != 0) info_.max_threads = limit(text.required_threads);
    info_.required_threads = text.required_threads;
    info_.min_blocks = text.min_blocks;
}

const KernelInfo& LoadedKernel::info() const {
    std::call_once(info_once_, [this] { read_info(); });
    return info_;
}

void LoadedKernel::prepare() const {
    if (code_.load(std::memory_order_acquire) != nullptr) return;
    info();
    const std::lock_guard lock(module_.mutex_);
    std::vector<std::string> unsupported;
    std::vector<const Code*> seen;
    module_.check_callees(*function_.code, unsupported, seen);
    if (!unsupported.empty()) {
        std::string list;
        for (const std::string& name : unsupported) list += (list.empty() ? "" : ", ") + name;
        throw Unsupported(
            "the kernel " + info_.name + " uses what the PTX engine does not execute: " + list,
            unsupported);
    }
    code_.store(function_.code.get(), std::memory_order_release);
}

void LoadedKernel::run_block(const BlockContext& context) const {
    prepare();
    BlockRun block(context, *code_.load(std::memory_order_acquire), info_, module_);
    const CountAtEnd count{counters_, block};
    block.run();
}

}  // namespace vgpu::ptx
