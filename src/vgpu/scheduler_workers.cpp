// What workers do, and the thread that runs host functions.
#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>

#include "base/processor_pause.hpp"
#include "vgpu/machine.hpp"
#include "vgpu/placement.hpp"
#include "vgpu/scheduler.hpp"
#include "vgpu/scheduler_pace.hpp"
#include "vgpu/thread_state.hpp"

namespace vgpu {

void Scheduler::worker_loop(unsigned thread) {
    prctl(PR_SET_TIMERSLACK, 1000UL);
    Executor& executor = new_executor();
    WorkerState state{.thread = thread};
    for (unsigned turn = 0;; ++turn) {
        if (turn % pace::turns_on_one_processor == 0) keep_off_the_helper();
        if (stopping_) {
            std::scoped_lock lock(mutex_);
            if (executor.size() == 0 && orphans_.empty()) return;
        }
        const bool has_new_work = ready_count_.load(std::memory_order_relaxed) > 0;
        state.looks_at_new_work = has_new_work ? state.looks_at_new_work + 1 : 0;
        const bool share_only = !seeded_ && has_new_work && work_is_shared_out() &&
                                state.looks_at_new_work < pace::looks_before_taking_all;
        const bool busy =
            seeded_ ? step_seeded(executor)
                    : take_new_work(executor, &state, share_only) || executor.run_some(1) > 0;
        if (busy || steal(executor, pace::may_rob_others(state.idle, executor))) {
            state.idle = 0;
        } else {
            worker_rest(state, executor);
        }
    }
}

void Scheduler::keep_off_the_helper() const {
    if (single_core_ || helpers_.load(std::memory_order_relaxed) == 0 || !work_is_large()) return;
    const int processor = helper_processor_.load(std::memory_order_relaxed);
    if (sched_getcpu() == processor) leave_processor(processor);
}

/// Spins while it has reason to, then naps; every look at the shared state that a nap can do
/// without costs the callers time.
void Scheduler::worker_rest(WorkerState& worker, Executor& executor) {
    constexpr unsigned looks = pace::spins_before_yield + pace::yields_before_sleep;
    const bool holds_blocks = executor.size() > 0;
    const bool large = work_is_large();  // more is likely to come at once: no nap
    if (large || (holds_blocks && worker.idle < looks)) {
        worker.idle = std::min(worker.idle + 1, looks);
        if ((large || worker.idle < pace::spins_before_yield) && !single_core_) {
            rondo::processor_pause();
        } else {
            sched_yield();
        }
        return;
    }
    worker.idle = std::max(worker.idle, looks) + 1;
    const unsigned naps = worker.idle - looks;
    if (naps % pace::naps_before_search == 0) look_for_deadlock();
    std::unique_lock lock(mutex_);
    if (stopping_ || work_is_large()) return;  // announced since it last looked
    if (worker.epoch != epoch_) {
        worker.epoch = epoch_;
        worker.idle = looks;
    } else if (naps >= pace::naps_before_park && !holds_blocks && ready_count_.load() == 0 &&
               orphans_.empty()) {
        ++resting_workers_;
        worker_wake_.wait(lock);
        --resting_workers_;
        worker.idle = 0;
        return;
    }
    const std::size_t waiting = ready_count_.load(std::memory_order_relaxed);
    const std::uint64_t taken = taken_.load(std::memory_order_relaxed);
    worker_wake_.wait_for(lock, pace::nap);
    worker.due = taken == taken_.load(std::memory_order_relaxed) ? waiting : 0;
    for (auto& victim : executors_) {
        if (stopping_ || victim.get() == &executor) continue;
        for (auto& block : victim->give_up_unbegun()) executor.adopt(std::move(block));
    }
}

/// With a seed, work goes on only while a caller waits for it (or has not called for a while), and
/// what runs next is drawn among everything that can run. Nothing is drawn when there is no choice,
/// so that idle time leaves no trace.
bool Scheduler::step_seeded(Executor& executor) {
    if (waiting_threads_.load() == 0 && !stopping_ &&
        global_timer_ns() - last_issue_ns_.load(std::memory_order_relaxed) <
            pace::seeded_start_after) {
        return false;
    }
    const std::size_t runnable = executor.count_runnable();
    Ticket ticket;
    std::size_t choice = 0;
    {
        std::scoped_lock lock(mutex_);
        const std::size_t fresh = stopping_ ? 0 : urgent_.size() + ready_.size();
        if (runnable + fresh == 0) return false;
        choice = runnable + fresh == 1 ? 0 : random_() % (runnable + fresh);
        if (choice >= runnable) {
            pop_nth(ticket, choice - runnable);
            in_flight_.fetch_add(1);
        }
    }
    if (choice < runnable) {
        executor.run_nth_runnable(choice);
    } else {
        run_ticket(executor, std::move(ticket));
    }
    return true;
}

void Scheduler::host_function_loop() {
    std::unique_lock lock(mutex_);
    while (true) {
        host_wake_.wait(lock, [this] { return stopping_ || !host_queue_.empty(); });
        if (stopping_) return;
        const OperationPtr operation = std::move(host_queue_.front());
        host_queue_.pop_front();
        in_flight_.fetch_add(1);
        lock.unlock();
        const auto& command = std::get<HostFunctionCommand>(operation->command);
        mark_host_function_thread();
        if (command.callback != nullptr) {
            command.callback(command.stream, machine_.device(operation->device).sticky_error.load(),
                             command.user_data);
        } else {
            command.function(command.user_data);
        }
        lock.lock();
        in_flight_.fetch_sub(1);
        finish(operation, cudaSuccess);
    }
}

}  // namespace vgpu
