#include "vgpu/call_count.hpp"

#include <mutex>
#include <unordered_set>

namespace vgpu {

namespace {

struct Threads {
    std::mutex mutex;
    std::unordered_set<const CallCount*> living;
    std::uint64_t of_ended = 0;
};

Threads& threads() {
    static Threads* all = new Threads;  // threads may end after static objects
    return *all;
}

}  // namespace

CallCount::CallCount() {
    std::scoped_lock lock(threads().mutex);
    threads().living.insert(this);
}

CallCount::~CallCount() {
    std::scoped_lock lock(threads().mutex);
    threads().living.erase(this);
    threads().of_ended += count_.load(std::memory_order_relaxed);
}

std::uint64_t CallCount::of_all_threads() {
    std::scoped_lock lock(threads().mutex);
    std::uint64_t sum = threads().of_ended;
    for (const CallCount* each : threads().living)
        sum += each->count_.load(std::memory_order_relaxed);
    return sum;
}

}  // namespace vgpu
