// Calls that are on their way, and the events that tell their end.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "communicator/arena.hpp"
#include "cuda/event.hpp"
#include "cuda/stream.hpp"

namespace rondo::detail {

/// One rank's part of a call that was enqueued. A Work waits for it, and the rank orders its next
/// call behind it.
struct CallRecord {
    explicit CallRecord(DeviceId device) : event(device) {}

    Event event;
    StreamRef stream{DeviceId(0), nullptr};
    std::uint64_t number = 0;               ///< of the rank's collectives; 0: an exchange
    int keepers = 0;                        ///< who will order something behind it
    std::vector<Arena::Range> pinned = {};  ///< that the call reads; given back when it has ended
    CallRecord* next = nullptr;             ///< in the same Work
    std::atomic<bool> has_work = false;     ///< a Work refers to it
    CallRecord* next_in_pool = nullptr;

    /// The Work is done with it. It may be another call's at once.
    void leave_work() noexcept { has_work.store(false, std::memory_order_release); }
};

/// The latest call of a kind, which the next is ordered behind.
class LatestCall {
public:
    void set(CallRecord* record) {
        ++record->keepers;
        if (record_ != nullptr) --record_->keepers;
        record_ = record;
    }
    /// What is put into the stream next comes behind the call.
    void order(StreamRef stream) const {
        if (record_ != nullptr && !(record_->stream == stream)) stream.wait(record_->event);
    }
    const CallRecord* get() const { return record_; }
    bool has_ended() const { return record_ == nullptr || record_->event.ready(); }

private:
    CallRecord* record_ = nullptr;
};

/// All records of one rank. A Work that ends stores one flag and takes no lock, so those in use are
/// looked at now and then. Not thread safe but for that flag.
class RecordPool {
public:
    /// Makes so many at once: drivers may wait for the device when an event is made.
    RecordPool(DeviceId device, std::size_t records);

    /// A record that no Work refers to, that nobody keeps and whose call has ended or needs no
    /// memory. Makes another when there is none.
    CallRecord* take();
    /// It is in use. Every record that take() gave must come back.
    void put_back(CallRecord* record) noexcept;
    /// Gives back the memory of calls that have ended. True when there was any.
    bool free_memory();
    /// The number of the latest collective of which it is known that it and all before have ended.
    std::uint64_t newest_ended() const;
    /// The oldest call that still has memory, or null.
    const CallRecord* oldest_with_memory() const;

private:
    void collect() noexcept;

    const DeviceId device_;
    std::vector<std::unique_ptr<CallRecord>> all_;
    CallRecord* free_ = nullptr;
    CallRecord* used_ = nullptr;    // a queue, the oldest first
    CallRecord* newest_ = nullptr;  // its end
};

}  // namespace rondo::detail
