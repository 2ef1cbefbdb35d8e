// Starting and finishing operations, and giving blocks places. What threads do is in
// scheduler_threads.cpp and scheduler_workers.cpp, the search for deadlocks in
// scheduler_report.cpp.
#include "vgpu/scheduler.hpp"

#include <sched.h>

#include <algorithm>

#include "vgpu/machine.hpp"
#include "vgpu/placement.hpp"

namespace vgpu {

namespace {

int cores() {
    const cpu_set_t set = allowed_processors();
    return std::max(1, CPU_COUNT(&set));
}

/// Of a number that is read without the lock and written with it: no locked instruction.
template <class Number>
void add_under_lock(std::atomic<Number>& number, Number summand,
                    std::memory_order order = std::memory_order_relaxed) {
    number.store(number.load(std::memory_order_relaxed) + summand, order);
}

unsigned workers_for(const Options& options) {
    if (options.seed.has_value()) return 1;
    return static_cast<unsigned>(std::max(1, options.workers < 0 ? cores() - 1 : options.workers));
}

}  // namespace

Scheduler::Scheduler(Machine& machine)
    : machine_(machine),
      seeded_(machine.options().seed.has_value()),
      single_core_(cores() == 1),
      worker_count_(workers_for(machine.options())),
      random_(machine.options().seed.value_or(0)) {
    for (unsigned i = 1; i <= worker_count_; ++i)
        workers_.emplace_back([this, i] { worker_loop(i); });
    host_thread_ = std::thread([this] { host_function_loop(); });
}

Scheduler::~Scheduler() {
    {
        std::scoped_lock lock(mutex_);
        stopping_ = true;  // from now on every block is doomed
    }
    changed_.notify_all();
    worker_wake_.notify_all();
    host_wake_.notify_all();
    for (auto& worker : workers_) worker.join();
    host_thread_.join();
}

void Scheduler::submit(const OperationPtr& operation, std::span<const OperationPtr> dependencies) {
    if (seeded_) last_issue_ns_.store(global_timer_ns(), std::memory_order_relaxed);
    something_happened();
    for (const OperationPtr& earlier : dependencies) {
        if (!earlier || earlier->done()) continue;
        earlier->after_finish.push_back(operation);
        ++operation->unmet;
    }
    if (operation->unmet == 0) start_ready(operation);
}

void Scheduler::start_after(const OperationPtr& operation, const OperationPtr& earlier) {
    if (!earlier || earlier->started) return;
    earlier->after_start.push_back(operation);
    ++operation->unmet;
}

/// Starts an operation and everything that becomes ready by it, without recursion.
void Scheduler::start_ready(const OperationPtr& first) {
    if (is_starting_) {
        starting_.push_back(first);
        return;
    }
    is_starting_ = true;
    begin(first);
    while (!starting_.empty()) {
        const OperationPtr operation = std::move(starting_.front());
        starting_.pop_front();
        begin(operation);
    }
    is_starting_ = false;
    if (sleepers_ > 0) changed_.notify_all();
}

void Scheduler::begin(const OperationPtr& operation) {
    operation->started = true;
    release_edges(operation->after_start);
    if (const auto* free = std::get_if<FreeCommand>(&operation->command))
        machine_.release_pool_memory(free->pointer);
    if (const auto* objects = std::get_if<ReleaseCommand>(&operation->command))
        machine_.release_objects(objects->references);
    Device& device = machine_.device(operation->device);
    const cudaError_t broken = device.sticky_error.load();
    if (const auto* host = std::get_if<HostFunctionCommand>(&operation->command)) {
        // A plain host function is not called after an error; the older callbacks are, and are
        // told.
        if (broken != cudaSuccess && host->callback == nullptr) return finish(operation, broken);
        host_queue_.push_back(operation);
        host_wake_.notify_one();
        return;
    }
    if (broken != cudaSuccess) return finish(operation, broken);
    if (std::holds_alternative<KernelCommand>(operation->command)) {
        enqueue_launch(device, operation);
    } else if (std::holds_alternative<CopyCommand>(operation->command) ||
               std::holds_alternative<MemsetCommand>(operation->command)) {
        push({operation, 0});
    } else {
        finish(operation, cudaSuccess);
    }
}

/// Behind the launches that came before, but ahead of less urgent ones that have no block running
/// yet.
void Scheduler::enqueue_launch(Device& device, const OperationPtr& operation) {
    operation->launch_number = ++launches_;
    if (device.launches.empty() && give_places(device, operation)) return;
    const auto at = std::find_if(
        device.launches.begin(), device.launches.end(), [&](const OperationPtr& other) {
            return other->dispatched_blocks == 0 && other->priority > operation->priority;
        });
    device.launches.insert(at, operation);
    dispatch(device);
}

void Scheduler::finish(const OperationPtr& operation, cudaError_t error) {
    something_happened();
    operation->error = error;
    if (std::holds_alternative<MarkerCommand>(operation->command))
        operation->finished_ns = global_timer_ns();
    operation->finished.store(true, std::memory_order_release);
    release_edges(operation->after_finish);
    operation->command = MarkerCommand{};
    if (sleepers_ > 0) changed_.notify_all();
}

void Scheduler::release_edges(std::vector<OperationPtr>& waiting) {
    for (OperationPtr& next : waiting) {
        if (--next->unmet == 0) start_ready(next);
    }
    waiting.clear();
}

/// Gives places to blocks in the order of the launches.
void Scheduler::dispatch(Device& device) {
    while (!device.launches.empty() && give_places(device, device.launches.front()))
        device.launches.pop_front();
}

/// True when all blocks have places. A cooperative launch gets them all at once or waits.
bool Scheduler::give_places(Device& device, const OperationPtr& launch) {
    const auto& kernel = std::get<KernelCommand>(launch->command);
    const std::size_t threads = kernel.threads_per_block();
    const std::size_t total = kernel.blocks();
    if (kernel.cooperative && launch->dispatched_blocks == 0 && !device.has_place(total, threads))
        return false;
    while (launch->dispatched_blocks < total) {
        if (!device.has_place(1, threads)) return false;
        ++device.resident_blocks;
        device.resident_threads += threads;
        add_under_lock(blocks_placed_, std::uint64_t{1});
        push({launch, launch->dispatched_blocks++});
    }
    return true;
}

void Scheduler::push(Ticket ticket) {
    auto& queue = ticket.operation->priority < 0 ? urgent_ : ready_;
    queue.push_back(std::move(ticket));
    add_under_lock(ready_count_, std::size_t{1}, std::memory_order_release);
    if (sleepers_ > 0) changed_.notify_one();
    // A worker that naps will look by itself; one that has parked must be told.
    if (resting_workers_ > 0) wake_worker();
}

void Scheduler::something_happened() {
    ++epoch_;
    stuck_threads_ = 0;
    stalled_since_ns_ = 0;
}

void Scheduler::wake_worker() {
    wakeups_.fetch_add(1, std::memory_order_relaxed);
    worker_wake_.notify_one();
}

void Scheduler::count_taken(std::size_t tickets) {
    add_under_lock(ready_count_, std::size_t{0} - tickets);
    add_under_lock(taken_, std::uint64_t{tickets});
}

bool Scheduler::pop(Ticket& ticket, bool from_back) {
    auto& queue = urgent_.empty() ? ready_ : urgent_;
    if (queue.empty()) return false;
    count_taken();
    if (from_back) {
        ticket = std::move(queue.back());
        queue.pop_back();
    } else {
        ticket = std::move(queue.front());
        queue.pop_front();
    }
    return true;
}

/// With fewer blocks than threads, whole devices are shared out. Copies are anybody's.
bool Scheduler::is_share_of(unsigned thread, const Ticket& ticket) const {
    const auto* const kernel = std::get_if<KernelCommand>(&ticket.operation->command);
    if (kernel == nullptr) return true;
    const std::size_t threads = worker_count_ + 1;
    const std::size_t blocks = kernel->blocks();
    const auto device = static_cast<std::size_t>(ticket.operation->device);
    const std::size_t place = blocks < threads ? device % threads : ticket.block * threads / blocks;
    return place == thread;
}

/// The caller looks from the front, workers from the back, and none of them for long.
bool Scheduler::pop_share(Ticket& ticket, unsigned thread) {
    constexpr std::size_t looks = 64;
    const auto& queue = urgent_.empty() ? ready_ : urgent_;
    for (std::size_t i = 0; i < std::min(looks, queue.size()); ++i) {
        const std::size_t n = thread == 0 ? i : queue.size() - 1 - i;
        if (!is_share_of(thread, queue[n])) continue;
        pop_nth(ticket, n);
        return true;
    }
    return false;
}

void Scheduler::pop_nth(Ticket& ticket, std::size_t n) {
    auto& queue = n < urgent_.size() ? urgent_ : ready_;
    const auto at =
        queue.begin() + static_cast<std::ptrdiff_t>(n < urgent_.size() ? n : n - urgent_.size());
    ticket = std::move(*at);
    queue.erase(at);
    count_taken();
}

void Scheduler::block_ended(Block& block) {
    std::scoped_lock lock(mutex_);
    const OperationPtr launch = std::move(block.launch);
    Device& device = machine_.device(launch->device);
    const auto& kernel = std::get<KernelCommand>(launch->command);
    --device.resident_blocks;
    device.resident_threads -= kernel.threads_per_block();
    if (++launch->finished_blocks == kernel.blocks()) finish(launch, device.sticky_error.load());
    if (!device.launches.empty()) dispatch(device);
}

void Scheduler::kill_blocks(int device) {
    std::scoped_lock lock(mutex_);
    auto mark = [device](Block& block) {
        if (block.info.device == device) block.kill.store(true, std::memory_order_relaxed);
    };
    for (auto& executor : executors_) {
        const auto held = executor->hold();
        executor->for_each(mark);
    }
    for (auto& block : orphans_) mark(*block);
    changed_.notify_all();
    worker_wake_.notify_all();
}

bool Scheduler::coin() {
    return (random_() & 1) != 0;
}

}  // namespace vgpu
