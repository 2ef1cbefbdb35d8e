// Decides what runs when: starts operations whose dependencies are met, gives blocks places on
// their device, and lets workers and waiting callers run them.
//
// Threads. max(1, cores - 1) workers, and every host thread that waits for something helps until it
// has it. Small work is done by the waiting caller alone: workers nap (35 us), begin what nobody
// took during a whole nap, and are woken at once only when a block announces large work, when a
// caller leaves unfinished blocks behind, or when they have parked after a while without work. With
// a seed there is exactly one worker and callers don't help, so that a run depends on nothing but
// the seed and the order of the calls. Large work that one caller waits for is shared out by block
// index: blocks of one index, on different devices, pass the same data on, and a thread that runs
// them all has it in its cache.
//
// Locks. `mutex_` guards operations, streams, places and the ready queue, and is held for a few
// instructions at a time; each Executor has a lock for its list of blocks. Order: mutex_ before an
// executor's lock. No lock is held while a block, a copy or a host function runs.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/spin_lock.hpp"
#include "vgpu/device.hpp"
#include "vgpu/executor.hpp"
#include "vgpu/operation.hpp"

namespace vgpu {

class Machine;

class Scheduler {
public:
    explicit Scheduler(Machine& machine);
    ~Scheduler();  ///< ends all work: blocks are killed, what has not started never does

    SpinLock& mutex() { return mutex_; }
    /// The machine that the scheduler's blocks belong to, even while another one is already in
    /// force.
    Machine& machine() { return machine_; }

    // ---- with mutex() held
    // ------------------------------------------------------------------------------------------
    /// Issues an operation after all of `dependencies` (nulls and finished ones are skipped).
    void submit(const OperationPtr& operation, std::span<const OperationPtr> dependencies);
    /// Makes `operation` wait for `earlier` to have started, not finished.
    void start_after(const OperationPtr& operation, const OperationPtr& earlier);

    // ---- without
    // ----------------------------------------------------------------------------------------------------
    /// Runs other work until every operation has finished, and drops them.
    void wait(std::span<OperationPtr> operations);
    /// The caller polls: make sure that somebody works.
    void nudge();
    /// Ends the device's blocks and lets its pending work finish with its sticky error.
    void kill_blocks(int device);
    std::string describe();
    /// The flag of a wait in words: whose memory it is in, what is wanted and what is there.
    std::string describe_wait(const FlagWait& wait, std::uint32_t seen) const;
    static std::uint32_t seen_by(const FlagWait& wait);

    /// The thread that used this executor ends.
    void return_executor(Executor& executor);

    // ---- called by executors and blocks
    // -----------------------------------------------------------------------------
    void block_ended(Block& block);
    void block_failed(Block& block, const char* reason);
    void announce_large_work(std::size_t bytes);
    bool seeded() const { return seeded_; }
    bool coin();  ///< from the seed; only the one worker of a seeded scheduler calls it
    std::uint64_t launches() const { return launches_; }
    std::uint64_t blocks() const { return blocks_placed_.load(std::memory_order_relaxed); }
    std::uint64_t wakeups() const { return wakeups_.load(std::memory_order_relaxed); }

private:
    /// A block that has a place, or a copy or memset, that nobody has begun.
    struct Ticket {
        OperationPtr operation;
        std::size_t block = 0;
    };

    /// What a worker remembers from one look around to the next.
    struct WorkerState {
        const unsigned thread;           ///< 1 and up; 0 is the caller
        unsigned idle = 0;               ///< looks since it last found something to do
        unsigned looks_at_new_work = 0;  ///< since there last was none
        std::uint64_t epoch = 0;         ///< the scheduler's, when it last napped
        std::size_t due = 0;             ///< tickets that nobody took during a whole nap
    };

    // with mutex_ held
    void start_ready(const OperationPtr& first);
    void begin(const OperationPtr& operation);
    void enqueue_launch(Device& device, const OperationPtr& operation);
    void finish(const OperationPtr& operation, cudaError_t error);
    void release_edges(std::vector<OperationPtr>& waiting);
    void dispatch(Device& device);
    bool give_places(Device& device, const OperationPtr& launch);
    void push(Ticket ticket);
    void wake_worker();
    void something_happened();
    void count_taken(std::size_t tickets = 1);
    bool pop(Ticket& ticket, bool from_back);
    bool pop_share(Ticket& ticket, unsigned thread);
    bool is_share_of(unsigned thread, const Ticket& ticket) const;
    void pop_nth(Ticket& ticket, std::size_t n);

    // without
    void worker_loop(unsigned thread);
    void host_function_loop();
    bool step(Executor& executor);
    bool step_seeded(Executor& executor);
    bool take_new_work(Executor& executor, WorkerState* worker, bool share_only);
    bool work_is_shared_out() const;
    bool adopt_new_work(Executor& executor);
    void run_ticket(Executor& executor, Ticket&& ticket);
    void prepare_block(Block& block, Ticket&& ticket);
    void start_block(Executor& executor, Ticket&& ticket);
    void run_task(OperationPtr&& operation);
    bool steal(Executor& thief, bool from_others);
    void wait_by_helping(std::span<const OperationPtr> operations);
    void wait_by_sleeping(std::span<const OperationPtr> operations);
    void leave(Executor& executor);
    Executor& executor_of_this_thread();
    void pause(unsigned& idle, std::uint64_t& counted_epoch,
               std::span<const OperationPtr> operations);
    void worker_rest(WorkerState& worker, Executor& executor);
    void keep_off_the_helper() const;
    bool work_is_large() const;
    void look_for_deadlock();
    bool nothing_can_run();
    bool every_thread_is_stuck(std::size_t threads) const;
    bool is_stalled();
    std::vector<std::unique_lock<SpinLock>> hold_all_blocks();
    template <class Visitor>
    void for_each_block(Visitor visit);  // only while hold_all_blocks() is held
    struct State;
    State copy_state();  // the same
    std::string describe(const State& state) const;
    Executor& new_executor();

    Machine& machine_;
    const bool seeded_;
    const bool single_core_;
    const unsigned worker_count_;
    std::mt19937_64 random_;

    mutable SpinLock mutex_;
    std::condition_variable_any changed_;  // something finished or became ready
    std::condition_variable_any worker_wake_;
    std::condition_variable_any host_wake_;
    std::deque<Ticket> urgent_, ready_;
    std::deque<OperationPtr> starting_;  // worklist of start_ready()
    bool is_starting_ = false;
    std::deque<OperationPtr> host_queue_;
    std::vector<std::unique_ptr<Block>> orphans_;  // left by callers that had what they wanted
    std::vector<std::unique_ptr<Executor>> executors_;
    std::vector<Executor*> free_executors_;  // of callers, to use again
    std::vector<std::thread> workers_;
    std::thread host_thread_;
    std::uint64_t launches_ = 0;
    unsigned sleepers_ = 0;
    unsigned resting_workers_ = 0;
    // For the deadlock search: callers known to be stuck since the last time anything was issued or
    // finished.
    std::uint64_t epoch_ = 1;
    unsigned stuck_threads_ = 0;
    std::uint64_t stalled_since_ns_ = 0;

    std::atomic<bool> stopping_{false};

    std::atomic<std::size_t> ready_count_{0};
    std::atomic<std::size_t> orphan_count_{0};  // size of orphans_, to look at without the lock
    std::atomic<std::uint64_t> taken_{0};       // tickets popped so far
    std::atomic<std::size_t> in_flight_{
        0};  // tickets taken, not yet finished or visible as waiting blocks
    std::atomic<unsigned> helpers_{0};
    std::atomic<int> helper_processor_{-1};  // where a helping caller ran lately
    std::atomic<unsigned> waiting_threads_{0};
    std::atomic<std::uint64_t> last_issue_ns_{0};
    mutable std::atomic<std::uint64_t> large_until_ns_{0};  // 0: known to be over
    std::atomic<std::uint64_t> blocks_placed_{0};
    std::atomic<std::uint64_t> wakeups_{0};
};

}  // namespace vgpu
