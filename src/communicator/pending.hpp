// Calls that were enqueued, one rank's part of each, and where their records come from.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "cuda/buffer.hpp"
#include "cuda/event.hpp"
#include "cuda/stream.hpp"

namespace rondo::detail {

/// One rank's part of a call that was enqueued. A Work waits for it, and the rank orders its next
/// call behind it.
struct Pending {
    explicit Pending(DeviceId device) : event(device) {}
    Event event;
    std::vector<PinnedBuffer<std::byte>> table;  ///< none or one: the segments of the call
    StreamRef stream{DeviceId(0), nullptr};
    Pending* next = nullptr;             ///< in the same Work
    std::atomic<bool> has_work = false;  ///< a Work refers to it
    Pending* next_in_pool = nullptr;

    /// The Work is done with it. It may be another call's at once.
    void leave_work() noexcept { has_work.store(false, std::memory_order_release); }
};

/// All records of one rank. A Work that ends stores one flag and takes no lock, so those in use are
/// looked at now and then. Not thread safe but for that flag.
class PendingPool {
public:
    /// A record that no Work refers to and that is not `last`; when its table will be written, one
    /// whose call has ended, too.
    Pending* take(DeviceId device, const Pending* last, bool with_table);
    /// It is in use. Every record that take() gave must come back, except one that is never to be
    /// used again.
    void put_back(Pending* pending) noexcept;

private:
    void collect(const Pending* last) noexcept;

    std::vector<std::unique_ptr<Pending>> all_;
    Pending* free_ = nullptr;
    Pending* used_ = nullptr;    // a queue, the oldest first
    Pending* newest_ = nullptr;  // its end
};

}  // namespace rondo::detail
