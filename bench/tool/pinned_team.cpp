// All cores at once, without a scheduler in between: threads that are pinned and wait spinning.
#include "bench/tool/pinned_team.hpp"

#include <pthread.h>

#include "base/processor_pause.hpp"

namespace rondo::bench {
namespace {

void pin_to(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

/// Never gives the core away: every thread has one of its own, and who yields waits for everybody
/// else who wants it.
void relax() {
    processor_pause();
}

}  // namespace

PinnedTeam::PinnedTeam() {
    CPU_ZERO(&before_);
    pthread_getaffinity_np(pthread_self(), sizeof(before_), &before_);
    for (int core = 0; core < CPU_SETSIZE; ++core) {
        if (CPU_ISSET(core, &before_)) cores_.push_back(core);
    }
    if (cores_.empty()) cores_.push_back(0);
    pin_to(cores_[0]);
    for (unsigned thread = 1; thread < size(); ++thread) {
        threads_.emplace_back([this, thread] { work(thread); });
    }
}

PinnedTeam::~PinnedTeam() {
    ended_ = true;
    started_.fetch_add(1, std::memory_order_release);
    for (std::thread& thread : threads_) thread.join();
    pthread_setaffinity_np(pthread_self(), sizeof(before_), &before_);
}

void PinnedTeam::work(unsigned thread) {
    pin_to(cores_[thread]);
    for (unsigned seen = 0;; ++seen) {
        while (started_.load(std::memory_order_acquire) == seen) relax();
        if (ended_) return;
        (*job_)(thread);
        done_.fetch_add(1, std::memory_order_release);
    }
}

void PinnedTeam::run(const std::function<void(unsigned)>& job) {
    job_ = &job;
    done_.store(0, std::memory_order_relaxed);
    started_.fetch_add(1, std::memory_order_release);
    job(0);
    while (done_.load(std::memory_order_acquire) != size() - 1) relax();
}

}  // namespace rondo::bench
