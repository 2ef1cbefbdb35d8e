// Who waits for whom: the state in words, and the search for deadlocks.
//
// A deadlock is reported when no block can go on, nothing else runs, no wait has a deadline of its
// own, and every other thread of the process waits inside the runtime, so that nobody is left to
// change that. In hostile mode a second without any event is enough, because threads that merely
// join others would hide a deadlock for ever.
#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <system_error>

#include "vgpu/machine.hpp"
#include "vgpu/scheduler.hpp"

namespace vgpu {

namespace {

constexpr std::uint64_t hostile_patience_ns = 1'000'000'000;

std::string describe_address(Machine& machine, const void* address) {
    const auto allocation = machine.memory().find(address);
    if (!allocation) return fmt::format("at {}", address);
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(address) - allocation->begin;
    return fmt::format("at {} (byte {} of {} bytes of {} of device {})", address, offset,
                       allocation->bytes, to_string(allocation->kind), allocation->device);
}

}  // namespace

/// All at once: looking at one executor after the other would miss what a block of the next one
/// does meanwhile.
std::vector<std::unique_lock<SpinLock>> Scheduler::hold_all_blocks() {
    std::vector<std::unique_lock<SpinLock>> held;
    for (auto& executor : executors_) held.push_back(executor->hold());
    return held;
}

template <class Visitor>
void Scheduler::for_each_block(Visitor visit) {
    for (auto& executor : executors_) executor->for_each(visit);
    for (auto& block : orphans_) visit(*block);
}

namespace {

/// What a report says about a block, copied while the locks are held: words take longer than that.
struct BlockState {
    int device;
    std::size_t index;
    const char* kernel;
    bool running;
    FlagWait wait;
    std::uint32_t seen;  // of the flag, which may be gone when the words are made
};

/// The blocks of a launch that have no place yet.
struct QueuedBlocks {
    int device;
    std::size_t first, last;
    const char* kernel;
    std::size_t taken, places;
};

}  // namespace

struct Scheduler::State {
    std::vector<BlockState> blocks;
    std::vector<QueuedBlocks> queued;
};

Scheduler::State Scheduler::copy_state() {
    State state;
    for_each_block([&](const Block& block) {
        state.blocks.push_back({.device = block.info.device,
                                .index = block.index,
                                .kernel = block.info.kernel,
                                .running = block.running || !block.waiting,
                                .wait = block.wait,
                                .seen = block.waiting ? seen_by(block.wait) : 0});
    });
    for (int index = 0; index < machine_.device_count(); ++index) {
        const Device& device = machine_.device(index);
        for (const OperationPtr& launch : device.launches) {
            const auto& kernel = std::get<KernelCommand>(launch->command);
            state.queued.push_back({.device = index,
                                    .first = launch->dispatched_blocks,
                                    .last = kernel.blocks() - 1,
                                    .kernel = kernel.kernel->description.name,
                                    .taken = device.resident_blocks,
                                    .places = device.max_resident_blocks});
        }
    }
    return state;
}

std::string Scheduler::describe_wait(const FlagWait& wait, std::uint32_t seen) const {
    return fmt::format("the flag {} to reach {}, sees {}", describe_address(machine_, wait.flag),
                       wait.wanted, seen);
}

std::uint32_t Scheduler::seen_by(const FlagWait& wait) {
    return wait.flag == nullptr ? 0 : __atomic_load_n(wait.flag, __ATOMIC_RELAXED);
}

std::string Scheduler::describe(const State& state) const {
    std::string text;
    for (const BlockState& block : state.blocks) {
        text += fmt::format("device {} block {} of kernel {}: ", block.device, block.index,
                            block.kernel);
        if (block.running) {
            text += "running\n";
        } else if (block.wait.flag == nullptr) {
            text += "delayed before its start\n";
        } else {
            text += "waits for " + describe_wait(block.wait, block.seen) + "\n";
        }
    }
    for (const QueuedBlocks& blocks : state.queued) {
        text += fmt::format(
            "device {} blocks {} to {} of kernel {}: not started, wait for a place ({} of {} "
            "places taken)\n",
            blocks.device, blocks.first, blocks.last, blocks.kernel, blocks.taken, blocks.places);
    }
    return text.empty() ? "no block runs or waits\n" : text;
}

std::string Scheduler::describe() {
    State state;
    {
        std::scoped_lock lock(mutex_);
        const auto held = hold_all_blocks();
        state = copy_state();
    }
    return describe(state);
}

bool Scheduler::nothing_can_run() {
    if (ready_count_.load() > 0 || in_flight_.load() > 0 || !host_queue_.empty() || stopping_)
        return false;
    bool stuck = false;
    bool movable = false;
    for_each_block([&](Block& block) {
        stuck = true;
        movable = movable || block.running || ends_by_itself(block) || can_go_on(block, 0);
    });
    return stuck && !movable;
}

namespace {

/// Threads of this process, all of them; 0 when that can't be found out.
std::size_t count_threads() {
    std::error_code error;
    std::size_t threads = 0;
    for (auto task = std::filesystem::directory_iterator("/proc/self/task", error);
         !error && task != end(task); ++task) {
        ++threads;
    }
    return error ? 0 : threads;
}

}  // namespace

bool Scheduler::every_thread_is_stuck(std::size_t threads) const {
    const std::size_t own = workers_.size() + 1;
    return threads > own && stuck_threads_ >= threads - own;
}

bool Scheduler::is_stalled() {
    std::scoped_lock lock(mutex_);
    const auto held = hold_all_blocks();
    if (!nothing_can_run()) {
        stalled_since_ns_ = 0;
        return false;
    }
    if (stalled_since_ns_ == 0) stalled_since_ns_ = global_timer_ns();
    return true;
}

void Scheduler::look_for_deadlock() {
    if (!is_stalled()) return;
    const std::size_t threads = count_threads();  // without a lock: it takes long
    State state;
    {
        std::scoped_lock lock(mutex_);
        const auto held = hold_all_blocks();
        // A thread may have set a flag and ended between the first look and the count of threads.
        if (stalled_since_ns_ == 0 || !nothing_can_run()) return;
        const bool patience_is_over = machine_.options().hostile &&
                                      global_timer_ns() - stalled_since_ns_ > hostile_patience_ns;
        if (!every_thread_is_stuck(threads) && !patience_is_over) return;
        state = copy_state();
    }
    const std::string report = "deadlock: no block can go on\n" + describe(state);
    std::set<int> devices;
    for (const BlockState& block : state.blocks) devices.insert(block.device);
    for (const int device : devices) machine_.fail_device(device, cudaErrorLaunchTimeout, report);
}

void Scheduler::block_failed(Block& block, const char* reason) {
    machine_.fail_device(block.info.device, cudaErrorLaunchFailure,
                         fmt::format("device {} block {} of kernel {} ended with an exception: {}",
                                     block.info.device, block.index, block.info.kernel, reason));
}

}  // namespace vgpu
