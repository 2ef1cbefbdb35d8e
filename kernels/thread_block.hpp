// The executor of device code for race checking: a real thread per CUDA thread, run under
// ThreadSanitizer. It takes the very paths of the GPU (16-byte packs strided over the threads), so
// a missing sync() or a weak flag shows as a race.
#pragma once

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "kernels/flags.hpp"
#include "kernels/pack_codecs.hpp"

namespace rondo::kernels {

struct ThreadGrid {
    std::uint32_t blocks = 1;
    std::uint32_t threads = 32;  ///< per block
};

/// What the threads of one block share besides the kernel's own shared memory.
struct ThreadGroup {
    explicit ThreadGroup(std::uint32_t threads) : barrier(threads) {}
    std::barrier<> barrier;
    std::atomic<bool> any = false;
};

class ThreadBlock {
public:
    ThreadBlock(ThreadGroup& group, const ThreadGrid& grid, std::uint32_t index, std::uint32_t rank)
        : group_(group), grid_(grid), index_(index), rank_(rank) {}

    std::uint32_t thread_rank() const { return rank_; }
    std::uint32_t size() const { return grid_.threads; }
    std::uint32_t index() const { return index_; }
    std::uint32_t count() const { return grid_.blocks; }
    void sync() const { group_.barrier.arrive_and_wait(); }
    void begin_step(const ReduceStep&, std::size_t) const {}

    template <ElementType type, ReduceOp op>
    void reduce(const ReduceStep& step) const {
        const PackLanes lanes(rank_, size());
        ReduceLoop<PackLanes, PackCodecOf<type>, op>(lanes, step).run();
    }
    void copy(const ReduceStep& step) const {
        const PackLanes lanes(rank_, size());
        ReduceLoop<PackLanes, PackRawCodec, ReduceOp::sum>(lanes, step).run();
    }

    /// After everything that the block's threads did before.
    void signal(std::uint32_t* flag, std::uint32_t value) const {
        sync();
        if (rank_ == 0) {
            store_release(flag, value);
        }
    }

    /// True when the flag was reached; then all threads see what its writer saw. Otherwise the
    /// record is written.
    bool wait(const FlagWait& wait, const WaitLimits& limits) const {
        std::uint64_t waited_ns = 0;
        const WaitFailure failure = rank_ == 0 ? poll(wait, limits, waited_ns) : WaitFailure::none;
        if (failure != WaitFailure::none) {
            write_failure(limits, wait, failure, index_, waited_ns);
        }
        return !any(failure != WaitFailure::none);
    }

    void post(std::uint32_t* flag, std::uint32_t value) const { store_release(flag, value); }

    template <class FlagOf>
    bool wait_all(std::uint32_t count, FlagOf flag_of, const WaitLimits& limits) const {
        std::uint64_t waited_ns = 0;
        bool failed = false;
        for (std::uint32_t i = rank_; i < count && !failed; i += size()) {
            failed = poll(flag_of(i), limits, waited_ns) != WaitFailure::none;
        }
        if (!any(failed)) {
            return true;
        }
        if (rank_ == 0) {
            write_first_failure(limits, count, flag_of, index_, waited_ns);
        }
        return false;
    }

    bool any(bool value) const {
        if (value) {
            group_.any.store(true, std::memory_order_relaxed);
        }
        sync();
        const bool result = group_.any.load(std::memory_order_relaxed);
        sync();
        if (rank_ == 0) {
            group_.any.store(false, std::memory_order_relaxed);
        }
        sync();
        return result;
    }

    void expect_access(const void*, std::size_t) const {}

private:
    static WaitFailure poll(const FlagWait& wait, const WaitLimits& limits,
                            std::uint64_t& waited_ns) {
        return poll_flag(wait, limits, now_ns, std::this_thread::yield, waited_ns);
    }

    static std::uint64_t now_ns() {
        const auto now = std::chrono::steady_clock::now().time_since_epoch();
        return static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count());
    }

    ThreadGroup& group_;
    ThreadGrid grid_;
    std::uint32_t index_;
    std::uint32_t rank_;
};

/// Runs body(block) on every thread of every block, all at once, and returns when they have ended.
/// `Block` is ThreadBlock or a variant of it with a seeded bug.
template <class Block = ThreadBlock, class Body>
void run_threads(const ThreadGrid& grid, const Body& body) {
    std::vector<std::unique_ptr<ThreadGroup>> groups;
    std::vector<std::jthread> threads;
    for (std::uint32_t index = 0; index < grid.blocks; ++index) {
        ThreadGroup& group = *groups.emplace_back(std::make_unique<ThreadGroup>(grid.threads));
        for (std::uint32_t rank = 0; rank < grid.threads; ++rank) {
            threads.emplace_back([&body, &group, grid, index, rank] {
                Block block(group, grid, index, rank);
                body(block);
            });
        }
    }
}

}  // namespace rondo::kernels
