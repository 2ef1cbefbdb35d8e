// What a communicator keeps for one of its ranks: its calls in their order.
#pragma once

#include <map>
#include <mutex>
#include <utility>

#include "communicator/call_log.hpp"
#include "communicator/call_record.hpp"
#include "communicator/peer_view.hpp"
#include "communicator/staging.hpp"

namespace rondo::detail {

/// A buffer that was found good. Asking CUDA again at every call would cost more than the rest.
struct CheckedBuffer {
    const void* data = nullptr;
    std::uint64_t bytes = 0;
    bool operator==(const CheckedBuffer&) const = default;
};

struct RankQueue {
    RankQueue(const Machine& machine, std::uint32_t rank)
        : view(machine, rank),
          pool(machine.device(rank), first_records),
          staging(machine.device(rank), view.peers()) {}

    /// Calls whose end the caller may still want to know, before another event must be made.
    static constexpr std::size_t first_records = 64;

    std::mutex mutex;  ///< of all below but the log; held while one call of the rank is enqueued
    PeerView view;
    RecordPool pool;
    StagingPool staging;
    LatestCall last;
    std::uint64_t collectives = 0;  ///< so far
    /// By peer, and whether this rank sends: only what goes the same way comes in order.
    std::map<std::pair<std::uint32_t, bool>, LatestCall> transfers;
    CheckedBuffer checked[2];
    CallLog log;

    /// Visits the latest call of every kind.
    template <class Visitor>
    void for_each_latest(Visitor visit) const {
        visit(last);
        for (const auto& [way, latest] : transfers) visit(latest);
    }
    bool is_idle() const {
        bool idle = true;
        for_each_latest([&](const LatestCall& latest) { idle = idle && latest.has_ended(); });
        return idle;
    }
};

}  // namespace rondo::detail
