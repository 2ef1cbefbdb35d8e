// What every thread of the scheduler does, and callers that help. Workers and the thread for host
// functions are in scheduler_workers.cpp.
#include <sched.h>

#include <algorithm>
#include <chrono>

#include "base/processor_pause.hpp"
#include "vgpu/machine.hpp"
#include "vgpu/scheduler.hpp"
#include "vgpu/scheduler_pace.hpp"
#include "vgpu/thread_state.hpp"

namespace vgpu {

namespace {

bool all_done(std::span<const OperationPtr> operations) {
    return std::all_of(operations.begin(), operations.end(),
                       [](const auto& each) { return !each || each->done(); });
}

}  // namespace

bool Scheduler::work_is_large() const {
    std::uint64_t until = large_until_ns_.load(std::memory_order_relaxed);
    if (until == 0) return false;
    if (global_timer_ns() < until) return true;
    large_until_ns_.compare_exchange_strong(until, 0, std::memory_order_relaxed);
    return false;
}

void Scheduler::announce_large_work(std::size_t bytes) {
    constexpr std::size_t bytes_per_ns = 10;  // of one thread, at least
    const std::uint64_t lasts =
        std::min(pace::large_work_lasts + bytes / bytes_per_ns, pace::longest_large_work);
    const std::uint64_t now = global_timer_ns();
    const std::uint64_t before = large_until_ns_.exchange(now + lasts, std::memory_order_relaxed);
    if (now < before) return;  // the workers know
    std::scoped_lock lock(mutex_);
    wakeups_.fetch_add(1, std::memory_order_relaxed);
    worker_wake_.notify_all();
}

Executor& Scheduler::new_executor() {
    std::scoped_lock lock(mutex_);
    if (!free_executors_.empty()) {
        Executor& executor = *free_executors_.back();
        free_executors_.pop_back();
        return executor;
    }
    return *executors_.emplace_back(std::make_unique<Executor>(*this));
}

// ---- one step of any thread
// ---------------------------------------------------------------------------------------------

/// Leaves the workers their share of new work as long as it has something of its own.
bool Scheduler::step(Executor& executor) {
    if (ready_count_.load(std::memory_order_acquire) == 0)
        return executor.run_some(pace::runs_at_once) > 0;
    const bool shared_out = work_is_shared_out();
    if (!shared_out && adopt_new_work(executor)) return executor.run_some(pace::runs_at_once) > 0;
    return take_new_work(executor, nullptr, shared_out) || executor.run_some(1) > 0 ||
           (shared_out && take_new_work(executor, nullptr, false));
}

bool Scheduler::work_is_shared_out() const {
    return helpers_.load(std::memory_order_relaxed) <= 1 && work_is_large();
}

/// Many blocks at once, without beginning them: other threads may still take them away. False when
/// there are none, or some that need more than this.
bool Scheduler::adopt_new_work(Executor& executor) {
    if (machine_.faults().any_block_fault() || stopping_) return false;
    std::scoped_lock lock(mutex_);
    const auto held = executor.hold();
    auto& queue = urgent_.empty() ? ready_ : urgent_;
    std::size_t adopted = 0;
    for (; !queue.empty() && executor.spare_blocks() > 0; ++adopted) {
        const auto* const kernel = std::get_if<KernelCommand>(&queue.front().operation->command);
        if (kernel == nullptr || kernel->dynamic_shared_bytes > 0) break;
        auto block = executor.fresh_block();
        prepare_block(*block, std::move(queue.front()));
        queue.pop_front();
        executor.adopt_held(std::move(block));
    }
    count_taken(adopted);
    return adopted > 0;
}

/// A caller that will wait for its work anyway does it best itself: a worker takes only what nobody
/// came for, or large work.
bool Scheduler::take_new_work(Executor& executor, WorkerState* worker, bool share_only) {
    if (ready_count_.load(std::memory_order_acquire) == 0 || stopping_) {
        if (worker != nullptr) worker->due = 0;
        return false;
    }
    const bool helped = helpers_.load(std::memory_order_relaxed) > 0;
    if (worker != nullptr) {
        if (worker->due == 0 && !work_is_large()) return false;
        if (helped && worker->due > 0) --worker->due;  // what is newer has its caller
    }
    Ticket ticket;
    {
        std::scoped_lock lock(mutex_);
        const bool found = share_only ? pop_share(ticket, worker == nullptr ? 0 : worker->thread)
                                      : pop(ticket, worker != nullptr && helped);
        if (!found) return false;
        in_flight_.fetch_add(1);
    }
    run_ticket(executor, std::move(ticket));
    return true;
}

void Scheduler::run_ticket(Executor& executor, Ticket&& ticket) {
    if (std::holds_alternative<KernelCommand>(ticket.operation->command)) {
        start_block(executor, std::move(ticket));
    } else {
        run_task(std::move(ticket.operation));
    }
    in_flight_.fetch_sub(1);
}

namespace {

void describe_place(BlockInfo& info, const Operation& launch, std::size_t index) {
    const auto& kernel = std::get<KernelCommand>(launch.command);
    info.device = launch.device;
    info.grid_dim = kernel.grid;
    info.block_dim = kernel.block;
    info.block_index.x = static_cast<unsigned>(index % kernel.grid.x);
    info.block_index.y = static_cast<unsigned>(index / kernel.grid.x % kernel.grid.y);
    info.block_index.z = static_cast<unsigned>(index / kernel.grid.x / kernel.grid.y);
    info.kernel = kernel.kernel->description.name;
    info.dynamic_shared_bytes = kernel.dynamic_shared_bytes;
}

}  // namespace

void Scheduler::prepare_block(Block& block, Ticket&& ticket) {
    block.launch = std::move(ticket.operation);
    block.launch_number = block.launch->launch_number;
    block.index = ticket.block;
    block.launch_blocks = std::get<KernelCommand>(block.launch->command).blocks();
    block.scheduler = this;
    block.stopping = &stopping_;
    block.device_error = &machine_.device(block.launch->device).sticky_error;
    BlockInfo& info = block.info;
    describe_place(info, *block.launch, block.index);
    info.dynamic_shared = nullptr;
    if (info.dynamic_shared_bytes > 0) {
        block.shared = std::make_unique_for_overwrite<std::byte[]>(info.dynamic_shared_bytes);
        info.dynamic_shared = block.shared.get();
    }
}

void Scheduler::start_block(Executor& executor, Ticket&& ticket) {
    auto block = executor.fresh_block();
    prepare_block(*block, std::move(ticket));
    const BlockInfo& info = block->info;
    const Faults& faults = machine_.faults();
    if (faults.any_block_fault()) {
        if (faults.kill_at(info.kernel, info.device, block->index) == 0u)
            return executor.retire(std::move(block));
        const auto delay = faults.delay_for(info.kernel, info.device, block->index);
        if (delay.count() > 0) {
            block->waiting = true;
            block->wait = {.deadline_ns =
                               global_timer_ns() +
                               static_cast<std::uint64_t>(std::chrono::nanoseconds(delay).count())};
            return executor.adopt(std::move(block));
        }
    }
    executor.start(std::move(block));
}

void Scheduler::run_task(OperationPtr&& operation) {
    cudaError_t error = cudaSuccess;
    if (auto* copy = std::get_if<CopyCommand>(&operation->command)) {
        error = machine_.run_copy(*copy);
    } else {
        execute_memset(std::get<MemsetCommand>(operation->command));
    }
    if (error != cudaSuccess) machine_.fail_device(operation->device, error, "");
    std::scoped_lock lock(mutex_);
    finish(operation, error);
    operation = nullptr;
}

/// Blocks that have no thread; else, if told so and work is large, blocks of another thread.
bool Scheduler::steal(Executor& thief, bool from_others) {
    const bool may_rob = from_others && work_is_large();
    if (orphan_count_.load(std::memory_order_relaxed) == 0 && !may_rob) return false;
    std::vector<std::unique_ptr<Block>> taken;
    {
        std::scoped_lock lock(mutex_);
        taken.swap(orphans_);
        orphan_count_.store(0, std::memory_order_relaxed);
        for (auto& victim : executors_) {
            if (!taken.empty() || !may_rob) break;
            if (victim.get() == &thief) continue;
            taken = thief.size() == 0 ? victim->give_up_half() : victim->give_up_runnable();
            if (taken.empty()) taken = victim->give_up_runnable();
        }
        // Under the lock, so that the deadlock search never misses a block in flight.
        for (auto& block : taken) thief.adopt(std::move(block));
    }
    return !taken.empty();
}

// ---- callers
// ------------------------------------------------------------------------------------------------------------

void Scheduler::wait(std::span<OperationPtr> operations) {
    if (std::ranges::all_of(operations, [](const auto& each) { return !each; })) return;
    if (!all_done(operations)) {
        waiting_threads_.fetch_add(1);
        if (seeded_) {
            wait_by_sleeping(operations);
        } else {
            wait_by_helping(operations);
        }
        waiting_threads_.fetch_sub(1);
    }
    std::scoped_lock lock(mutex_);
    for (OperationPtr& operation : operations) operation = nullptr;
}

void Scheduler::wait_by_helping(std::span<const OperationPtr> operations) {
    Executor& executor = executor_of_this_thread();
    helpers_.fetch_add(1);
    unsigned idle = 0;
    std::uint64_t counted_epoch = 0;
    for (unsigned turn = 0; !all_done(operations); ++turn) {
        if (turn % pace::turns_on_one_processor == 0)
            helper_processor_.store(sched_getcpu(), std::memory_order_relaxed);
        if (step(executor)) {
            idle = 0;
        } else if (pace::may_rob_others(idle, executor) && steal(executor, true)) {
            idle = 0;
        } else {
            pause(idle, counted_epoch, operations);
        }
    }
    helpers_.fetch_sub(1);
    leave(executor);
}

/// Nothing to do at the moment: spin, then let others have the core, then sleep a little and look
/// for a deadlock.
void Scheduler::pause(unsigned& idle, std::uint64_t& counted_epoch,
                      std::span<const OperationPtr> operations) {
    ++idle;
    if (idle < pace::spins_before_yield && !single_core_) {
        rondo::processor_pause();
    } else if (idle < pace::spins_before_yield + pace::yields_before_sleep) {
        sched_yield();
    } else {
        std::unique_lock lock(mutex_);
        if (all_done(operations)) return;
        if (counted_epoch != epoch_) {
            counted_epoch = epoch_;
            ++stuck_threads_;
        }
        ++sleepers_;
        changed_.wait_for(lock, pace::nap);
        --sleepers_;
        lock.unlock();
        look_for_deadlock();
    }
}

/// Goes on for a moment with blocks that can finish now; what is left goes to the workers.
void Scheduler::leave(Executor& executor) {
    if (executor.size() > 0) {
        std::uint64_t until = 0;
        while (executor.run_some(pace::runs_at_once) == pace::runs_at_once) {
            const std::uint64_t now = global_timer_ns();
            if (until == 0) until = now + 10 * pace::microsecond;
            if (now >= until) break;
        }
    }
    if (executor.size() == 0 && ready_count_.load(std::memory_order_relaxed) == 0) return;
    std::scoped_lock lock(mutex_);
    for (auto& block : executor.give_up_all()) orphans_.push_back(std::move(block));
    orphan_count_.store(orphans_.size(), std::memory_order_relaxed);
    if (!orphans_.empty() || ready_count_.load(std::memory_order_relaxed) > 0) wake_worker();
}

Executor& Scheduler::executor_of_this_thread() {
    ThreadState& thread = this_thread();
    if (thread.executor == nullptr || thread.executor_generation != machine_.generation()) {
        thread.executor = &new_executor();
        thread.executor_generation = machine_.generation();
    }
    return *thread.executor;
}

void Scheduler::return_executor(Executor& executor) {
    std::scoped_lock lock(mutex_);
    free_executors_.push_back(&executor);
}

void Scheduler::wait_by_sleeping(std::span<const OperationPtr> operations) {
    std::unique_lock lock(mutex_);
    worker_wake_.notify_all();
    std::uint64_t counted_epoch = 0;
    while (!all_done(operations)) {
        if (counted_epoch != epoch_) {
            counted_epoch = epoch_;
            ++stuck_threads_;
        }
        ++sleepers_;
        changed_.wait_for(lock, std::chrono::milliseconds(1));
        --sleepers_;
    }
}

void Scheduler::nudge() {
    std::scoped_lock lock(mutex_);
    worker_wake_.notify_one();
}

}  // namespace vgpu
