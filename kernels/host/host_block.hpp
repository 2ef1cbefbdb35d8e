// The executor of device code on vgpu: one thread per block, inside a fiber, with the widest
// vectors of the processor.
#pragma once

#include "kernels/elements.hpp"
#include "kernels/flags.hpp"
#include "kernels/host/loops.hpp"
#include "vgpu/block.hpp"

namespace rondo::kernels {

class HostBlock {
public:
    /// Must be made inside a block that vgpu runs.
    HostBlock() : HostBlock(loops_of_chosen_isa()) {}
    explicit HostBlock(const HostLoops& loops) : info_(vgpu::current_block()), loops_(loops) {}

    static constexpr std::uint32_t thread_rank() { return 0; }
    static constexpr std::uint32_t size() { return 1; }
    std::uint32_t index() const { return info_.block_index.x; }
    std::uint32_t count() const { return info_.grid_dim.x; }
    static void sync() {}

    /// Tells vgpu how much work comes and, in checking mode, every span that it touches.
    void begin_step(const ReduceStep& step, std::size_t element_bytes) const;

    template <ElementType type, ReduceOp op>
    void reduce(const ReduceStep& step) const {
        constexpr std::size_t column = fold_column(op);
        loops_.reduce[static_cast<std::size_t>(type)][column](
            step, choose_stores(step, element_bytes<type>));
    }
    void copy(const ReduceStep& step) const { loops_.copy(step, choose_stores(step, 1)); }

    /// After everything that the block did before.
    void signal(std::uint32_t* flag, std::uint32_t value) const {
        if (vgpu::watching()) [[unlikely]] {
            signal_slowly(flag, value);
        } else {
            store_release(flag, value);
        }
    }

    /// True when the flag was reached. Other blocks run meanwhile. Otherwise the record is written.
    bool wait(const FlagWait& wait, const WaitLimits& limits) const {
        return (!vgpu::checking() && has_reached(load_acquire(wait.flag), wait.wanted)) ||
               wait_slowly(wait, limits);
    }

    /// The same as signal(): the block has one thread.
    void post(std::uint32_t* flag, std::uint32_t value) const { signal(flag, value); }

    template <class FlagOf>
    bool wait_all(std::uint32_t count, FlagOf flag_of, const WaitLimits& limits) const {
        for (std::uint32_t i = 0; i < count; ++i) {
            if (!wait(flag_of(i), limits)) {
                return false;
            }
        }
        return true;
    }

    static bool any(bool value) { return value; }

    void expect_access(const void* address, std::size_t bytes) const {
        if (vgpu::checking()) {
            vgpu::check_access(address, bytes, vgpu::Access::write);
        }
    }

    /// Results so large that nobody finds them in a cache later go past it, unless they replace a
    /// source, which is in the cache already, or lie at different alignments. A step is large by
    /// itself, or because all results of its call together are. See docs/kernels.md for the
    /// measurement.
    static constexpr std::size_t streaming_threshold = std::size_t{8} << 20;
    static constexpr std::size_t large_results = std::size_t{16} << 20;
    static Stores choose_stores(const ReduceStep& step, std::size_t element_bytes);

private:
    bool wait_slowly(const FlagWait& wait, const WaitLimits& limits) const;
    static void signal_slowly(std::uint32_t* flag, std::uint32_t value);
    static const HostLoops& loops_of_chosen_isa();

    const vgpu::BlockInfo& info_;
    const HostLoops& loops_;
};

}  // namespace rondo::kernels
