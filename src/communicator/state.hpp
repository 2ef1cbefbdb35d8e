// A communicator without element types: its parts, and the rules that join them.
#pragma once

#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "communicator/arena.hpp"
#include "communicator/connections.hpp"
#include "communicator/device_order.hpp"
#include "communicator/failure.hpp"
#include "communicator/failure_state.hpp"
#include "communicator/machine.hpp"
#include "communicator/plan_cache.hpp"
#include "communicator/planners.hpp"
#include "communicator/rank_queue.hpp"
#include "rondo/communicator.hpp"

namespace rondo::detail {

/// Pinned memory, as the host and as a rank's device see it.
struct PinnedPlace {
    std::byte* host;
    std::byte* seen;
};

class CommunicatorState : public std::enable_shared_from_this<CommunicatorState> {
public:
    explicit CommunicatorState(const CommunicatorOptions& options);
    /// Ends what can't end by itself, because some rank has not called, and waits for the rest.
    ~CommunicatorState();

    const CommunicatorOptions& options() const { return options_; }
    const Machine& machine() const { return machine_; }
    std::uint32_t ranks() const { return machine_.ranks(); }
    RankQueue& rank(std::uint32_t rank) { return *ranks_[rank]; }
    Arena& arena() { return arena_; }
    PlanCache& plans() { return plans_; }
    const PlanCache& plans() const { return plans_; }
    const Connections& connections() const { return connections_; }
    DeviceOrder& device_order() { return device_order_; }

    // ---- failure

    /// Ends everything with this cause, unless there is one already.
    void fail(std::exception_ptr cause) noexcept;
    /// What ended the communicator, or null. Never blocks.
    std::exception_ptr failure() { return failure_.get(); }
    /// Throws it, if there is any, when no kernel can touch a buffer of a call any more.
    void throw_if_failed();
    /// Throws AbortedError that says why when it can't be used any more.
    void throw_if_unusable();

    /// Blocks until all from `first` on have ended; a failure of a device becomes that of the
    /// communicator.
    void wait(const CallRecord* first);
    bool ready(const CallRecord* first);

    /// Pinned memory that is the record's until its call has ended. With `may_wait`, waits for
    /// earlier calls of the rank to give theirs back; otherwise throws Unsupported. The rank's
    /// queue must be locked.
    PinnedPlace take_pinned(std::uint32_t rank, CallRecord& record, std::size_t bytes,
                            bool may_wait);

    /// Tensors of a batch whose addresses fit into pinned memory, with those of other calls.
    std::size_t most_segments() const { return arena_.pinned_bytes() / ranks() / 4 / 32; }

    // ---- pairs

    /// Its kernels may report from now on.
    void use_pair(const RankPair& pair, bool at_sender);

private:
    static CommunicatorOptions complete(CommunicatorOptions options);
    ArenaOptions arena_options() const;
    void load_kernels() const;
    std::exception_ptr reported_failure();
    void settle() noexcept;
    bool is_idle(PreparedPlan& plan);
    bool misses_calls() const;

    struct PairUse {
        std::uint64_t sends = 0;
        std::uint64_t receives = 0;
    };

    const CommunicatorOptions options_;
    const std::shared_ptr<const Detection> detection_;
    const Machine machine_;
    FailureState failure_;
    Arena arena_;
    Connections connections_;
    PlanCache plans_;
    std::vector<std::unique_ptr<RankQueue>> ranks_;
    DeviceOrder device_order_;
    mutable std::mutex pairs_mutex_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, PairUse> pairs_;
};

/// Held while all ranks of a call are launched, so that all devices see the calls of all
/// communicators in one order. Nothing else is done under it.
std::mutex& launch_mutex();

}  // namespace rondo::detail
