// All cores at once, without a scheduler in between: threads that are pinned and wait spinning.
#pragma once

#include <sched.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace rondo::bench {

/// One thread per core that the process may use; the caller is one of them. They spin between jobs,
/// so a team should live only while it is measured. The caller is pinned until the team goes.
class PinnedTeam {
public:
    PinnedTeam();
    ~PinnedTeam();
    PinnedTeam(const PinnedTeam&) = delete;
    PinnedTeam& operator=(const PinnedTeam&) = delete;

    unsigned size() const { return static_cast<unsigned>(cores_.size()); }
    /// Calls job(thread) on every thread, with thread from 0 to size() - 1; returns when all are
    /// done. The job must not throw.
    void run(const std::function<void(unsigned)>& job);

private:
    void work(unsigned thread);

    cpu_set_t before_ = {};
    std::vector<int> cores_;
    const std::function<void(unsigned)>* job_ = nullptr;
    alignas(64) std::atomic<unsigned> started_ = 0;
    alignas(64) std::atomic<unsigned> done_ = 0;
    std::atomic<bool> ended_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace rondo::bench
