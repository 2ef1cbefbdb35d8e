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

std::string Scheduler::describe_block(const Block& block) const {
    std::string text = fmt::format("device {} block {} of kernel {}: ", block.info.device,
                                   block.index, block.info.kernel);
    if (block.running || !block.waiting) return text + "running";
    if (block.wait.flag == nullptr) return text + "delayed before its start";
    return text + "waits for " + describe_wait(block.wait);
}

std::string Scheduler::describe_wait(const FlagWait& wait) const {
    return fmt::format("the flag {} to reach {}, sees {}", describe_address(machine_, wait.flag),
                       wait.wanted, __atomic_load_n(wait.flag, __ATOMIC_RELAXED));
}

std::string Scheduler::describe_locked() {
    std::string text;
    for_each_block([&](const Block& block) { text += describe_block(block) + "\n"; });
    for (int index = 0; index < machine_.device_count(); ++index) {
        const Device& device = machine_.device(index);
        for (const OperationPtr& launch : device.launches) {
            const auto& kernel = std::get<KernelCommand>(launch->command);
            text += fmt::format(
                "device {} blocks {} to {} of kernel {}: not started, wait for a place ({} of {} "
                "places taken)\n",
                index, launch->dispatched_blocks, kernel.blocks() - 1,
                kernel.kernel->description.name, device.resident_blocks,
                device.max_resident_blocks);
        }
    }
    return text.empty() ? "no block runs or waits\n" : text;
}

std::string Scheduler::describe() {
    std::scoped_lock lock(mutex_);
    const auto held = hold_all_blocks();
    return describe_locked();
}

bool Scheduler::nothing_can_run() {
    if (ready_count_.load() > 0 || in_flight_.load() > 0 || !host_queue_.empty() || stopping_)
        return false;
    bool stuck = false;
    bool movable = false;
    for_each_block([&](Block& block) {
        stuck = true;
        movable = movable || block.running || !block.waiting || block.wait.deadline_ns != 0 ||
                  can_go_on(block, 0);
    });
    return stuck && !movable;
}

bool Scheduler::every_thread_is_stuck() const {
    std::error_code error;
    std::size_t threads = 0;
    for (auto task = std::filesystem::directory_iterator("/proc/self/task", error);
         !error && task != end(task); ++task) {
        ++threads;
    }
    const std::size_t own = workers_.size() + 1;
    return !error && threads > own && stuck_threads_ >= threads - own;
}

void Scheduler::look_for_deadlock() {
    std::string report;
    std::set<int> devices;
    {
        std::scoped_lock lock(mutex_);
        const auto held = hold_all_blocks();
        if (!nothing_can_run()) {
            stalled_since_ns_ = 0;
            return;
        }
        const std::uint64_t now = global_timer_ns();
        if (stalled_since_ns_ == 0) stalled_since_ns_ = now;
        const bool patience_is_over =
            machine_.options().hostile && now - stalled_since_ns_ > hostile_patience_ns;
        if (!every_thread_is_stuck() && !patience_is_over) return;
        // A thread may have set a flag and ended between the first look and the count of threads.
        if (!nothing_can_run()) return;
        report = "deadlock: no block can go on\n" + describe_locked();
        for_each_block([&](const Block& block) { devices.insert(block.info.device); });
    }
    for (const int device : devices) machine_.fail_device(device, cudaErrorLaunchTimeout, report);
}

void Scheduler::block_failed(Block& block, const char* reason) {
    machine_.fail_device(block.info.device, cudaErrorLaunchFailure,
                         fmt::format("device {} block {} of kernel {} ended with an exception: {}",
                                     block.info.device, block.index, block.info.kernel, reason));
}

}  // namespace vgpu
