// A thread that runs blocks: it resumes those whose wait is over, in turn.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/spin_lock.hpp"
#include "vgpu/block.hpp"
#include "vgpu/fiber.hpp"
#include "vgpu/operation.hpp"

namespace vgpu {

using rondo::SpinLock;

class Scheduler;

/// Thrown through a kernel to end its block; nobody else may catch it.
struct BlockKilled {};

/// One block of a launch, from its start to its end. Ended blocks are kept with their stacks for
/// the next ones.
struct Block {
    OperationPtr launch;  ///< null when the block has ended
    std::uint64_t launch_number = 0;
    std::size_t index = 0;          ///< linear
    std::size_t launch_blocks = 1;  ///< of which it is one
    BlockInfo info;
    std::unique_ptr<std::byte[]> shared;
    Fiber fiber;
    Scheduler* scheduler = nullptr;
    const std::atomic<bool>* stopping = nullptr;  ///< whether the scheduler is
    const std::atomic<cudaError_t>* device_error = nullptr;
    FlagWait wait;  ///< valid while waiting
    WaitOutcome outcome = WaitOutcome::ready;
    bool waiting = false;
    bool started = false;
    bool running = false;  ///< or ended; guarded by the executor's lock
    std::atomic<bool> kill{false};
    std::uint64_t interactions = 0;  ///< waits and signals so far, for kill_block()
    std::size_t work_bytes = 0;      ///< announced since it was last called large

    /// Neighbours are kept together: devices in order, then launches, then blocks.
    bool before(const Block& other) const;
    /// From 0 to 1: the middle of the block's share of its launch.
    double place_in_launch() const;
    /// Whether their shares of their launches overlap. Such blocks, on different devices, pass the
    /// same data on, also where one device has fewer of them.
    bool goes_with(const Block& other) const;
    /// Makes an ended block ready for its next life.
    void recycle();
    /// Whether it must end at the next opportunity: it was killed, its device is broken, or the
    /// scheduler stops.
    bool doomed() const {
        return kill.load(std::memory_order_relaxed) || stopping->load(std::memory_order_relaxed) ||
               device_error->load(std::memory_order_relaxed) != cudaSuccess;
    }
};

/// Whether a block can go on now; sets outcome if it can. `now` 0 leaves deadlines out.
inline bool can_go_on(Block& block, std::uint64_t now) {
    if (!block.waiting) return true;
    const FlagWait& wait = block.wait;
    if (wait.flag != nullptr &&
        static_cast<std::int32_t>(__atomic_load_n(wait.flag, __ATOMIC_ACQUIRE) - wait.wanted) >=
            0) {
        block.outcome = WaitOutcome::ready;
        return true;
    }
    if (wait.abort != nullptr && __atomic_load_n(wait.abort, __ATOMIC_ACQUIRE) != 0) {
        block.outcome = WaitOutcome::aborted;
        return true;
    }
    if (block.doomed()) return true;
    if (now == 0) return false;
    if (wait.timeout_ns != 0 && wait.deadline_ns == 0)
        block.wait.deadline_ns = now + wait.timeout_ns;
    if (wait.deadline_ns != 0 && now >= wait.deadline_ns) {
        block.outcome = WaitOutcome::timed_out;
        return true;
    }
    return false;
}

/// Whether the block's wait ends without anybody's help: at a deadline, computed or not yet, or
/// because it does not wait.
inline bool ends_by_itself(const Block& block) {
    return !block.waiting || block.wait.deadline_ns != 0 || block.wait.timeout_ns != 0;
}

/// Belongs to one thread at a time; other threads only look into it to take blocks away.
class Executor {
public:
    explicit Executor(Scheduler& scheduler) : scheduler_(scheduler) {}

    /// Runs blocks in turn, each until it waits or ends, at most so many times. Returns how many
    /// times; 0 when none can go on.
    unsigned run_some(unsigned most);
    /// How many blocks could go on now, and running one of them by its number among those.
    std::size_t count_runnable();
    void run_nth_runnable(std::size_t n);
    /// An unused block; kept ones cost nothing.
    std::unique_ptr<Block> fresh_block();
    std::size_t spare_blocks() const { return unused_.size(); }
    /// Runs a block for the first time; if it waits, it stays under this executor's care.
    void start(std::unique_ptr<Block> block);
    /// Ends a block that has run or never will, and keeps it for later.
    void retire(std::unique_ptr<Block> block);
    /// Takes over a block that waits, or waits to be started; the second form while hold() is held.
    void adopt(std::unique_ptr<Block> block);
    void adopt_held(std::unique_ptr<Block> block);
    /// Gives up blocks that are not running. Blocks that go with each other stay together where
    /// possible: the thread's cache then holds what they pass on.
    std::vector<std::unique_ptr<Block>> give_up_all();
    std::vector<std::unique_ptr<Block>> give_up_half();
    /// A block that could go on if only a thread ran it, with those that go with it unless nothing
    /// else would be left; none if there is none.
    std::vector<std::unique_ptr<Block>> give_up_runnable();
    /// Half of the blocks that have not begun, if the thread has run one and the same block ever
    /// since it was last asked.
    std::vector<std::unique_ptr<Block>> give_up_unbegun();
    std::size_t size() const;

    /// While held, no block of this executor begins or ceases to run.
    std::unique_lock<SpinLock> hold() { return std::unique_lock(mutex_); }
    /// Visits all blocks; only while hold() is held.
    template <class Visitor>
    void for_each(Visitor visit) {
        for (auto& block : blocks_) visit(*block);
    }

private:
    Block* pick();
    Block* pick(std::uint64_t now);
    static bool run(Block& block);  // true when it has ended
    void keep(std::unique_ptr<Block> block);
    // with the lock held
    void choose(Block& block);
    void count_unbegun(std::ptrdiff_t more);
    void after_run(Block& block, bool ended);
    void remove_ended();
    std::vector<std::unique_ptr<Block>> give_up_if(const std::function<bool(const Block&)>& wanted);

    Scheduler& scheduler_;
    mutable SpinLock mutex_;
    std::vector<std::unique_ptr<Block>> blocks_;  // ordered by Block::before
    std::size_t cursor_ = 0;
    std::size_t ended_ = 0;  // of blocks_
    unsigned picks_ = 0;
    unsigned picks_when_asked_ = 0;
    std::atomic<std::size_t> unbegun_{0};         // of blocks_; written with the lock held
    std::vector<std::unique_ptr<Block>> unused_;  // touched by the owning thread alone
};

/// The block that the calling thread runs, or null. Never inlined: a fiber may wake on another
/// thread.
Block* block_of_this_thread() noexcept;

namespace detail {
void set_running_block(Block* block);  // never inlined either
void block_entry(void* block);
}  // namespace detail

/// Inline, see Fiber.
inline bool Executor::run(Block& block) {
    detail::set_running_block(&block);
    block.waiting = false;
    if (block.started) {
        block.fiber.resume();
    } else if (!block.doomed()) {
        block.started = true;
        block.fiber.start(&detail::block_entry, &block);
    }
    detail::set_running_block(nullptr);
    return block.fiber.finished();
}

inline void Executor::start(std::unique_ptr<Block> block) {
    if (run(*block)) {
        retire(std::move(block));
    } else {
        adopt(std::move(block));
    }
}

}  // namespace vgpu
