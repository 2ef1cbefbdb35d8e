// Threads that work together: when one fails, all end, and the error names the one that was first.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace rondo::training {

/// All workers come, one does something for all, and all go on. Every wait has a deadline.
class Meeting {
public:
    Meeting(std::size_t workers, std::chrono::nanoseconds timeout)
        : workers_(workers), timeout_(timeout), present_(workers) {}

    /// The last to come runs `action` while the others wait. What it throws is thrown to everybody
    /// as an AbortedError, and to the last as it is. Throws TimeoutError that names who did not
    /// come, and AbortedError after abort().
    void meet(std::size_t worker, const std::function<void()>& action = {});
    void abort();

private:
    std::string describe_missing() const;

    std::size_t workers_;
    std::chrono::nanoseconds timeout_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<bool> present_;
    std::size_t arrived_ = 0;
    std::uint64_t round_ = 0;
    bool aborted_ = false;
};

/// How a worker is called in errors: "worker 2 (device 2)".
using WorkerName = std::function<std::string(std::size_t)>;

struct WorkerGroupOptions {
    std::size_t workers = 1;
    WorkerName name;
    std::function<void()> abort;  ///< ends all waits of the others; called once, from a worker
};

/// Runs body(worker) on a thread each and waits for all. Throws WorkerError with the name of the
/// worker that failed first for a reason of its own.
void run_worker_group(const WorkerGroupOptions& options,
                      const std::function<void(std::size_t)>& body);

}  // namespace rondo::training
