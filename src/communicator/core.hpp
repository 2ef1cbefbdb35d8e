// The communicator without element types: plans, launches, order, failure.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/spin_lock.hpp"
#include "communicator/advisor.hpp"
#include "communicator/connections.hpp"
#include "communicator/failure.hpp"
#include "communicator/machine.hpp"
#include "communicator/peer_view.hpp"
#include "communicator/pending.hpp"
#include "communicator/plan.hpp"
#include "communicator/staging.hpp"
#include "cuda/device_guard.hpp"
#include "cuda/event.hpp"
#include "cuda/stream.hpp"
#include "kernels/kernels.hpp"
#include "rondo/communicator.hpp"

namespace rondo::detail {

/// What a plan depends on.
struct PlanKey {
    Collective collective = Collective::all_reduce;
    Strategy strategy = {};
    std::uint32_t schedule = 0;  ///< 1 + index of one that the user brought; 0: the strategy's
    std::uint32_t root = 0;
    std::span<const std::uint32_t> destinations = {};
    std::span<const std::uint64_t> counts = {};
    std::uint32_t lanes = 1;
    std::uint32_t depth = 2;
    std::uint64_t slot_bytes = 0;
    std::uint32_t units_per_lane = 0;
    bool leaves_push = false;
    bool one_folds = false;
    bool fetches = false;

    bool operator==(const PlanKey& other) const;
    std::uint64_t hash() const;
};

struct CachedPlan {
    PlanKey key;  ///< its spans point to the vectors below
    std::vector<std::uint32_t> destinations;
    std::vector<std::uint64_t> counts;
    std::uint64_t hash = 0;
    std::unique_ptr<Plan> plan;
};

/// A call's plan, how the plan cuts a message of its length, and the kernel that runs it.
struct PlannedCall {
    CachedPlan* cached = nullptr;
    Cut cut = {};
    kernels::Kernel<kernels::ProgramArguments> kernel = {};
};

/// What a pair of ranks, sender and receiver, has from the communicator that it belongs to.
struct PairOrigin {
    std::shared_ptr<SharedFailure> failure;
    std::uint32_t sender = 0;  ///< as the communicator numbers them
    std::uint32_t receiver = 0;
};

class Core : public std::enable_shared_from_this<Core>, private FailureReporter {
public:
    explicit Core(const CommunicatorOptions& options, const PairOrigin* pair = nullptr);
    ~Core();

    const Machine& machine() const { return machine_; }
    const CommunicatorOptions& options() const { return options_; }

    /// Everything that can be wrong with a call, whoever makes it, and with one rank's buffers.
    /// Throws before anything is enqueued.
    void check_call(const Call& call);
    void check_buffers(const Call& call, std::uint32_t first_rank,
                       std::span<const RankBuffers> buffers);

    /// The plan of a call, made now when there is none. Throws InvalidArgument or Unsupported, also
    /// when the message has more chunks than can be counted: now, and not when half of the ranks
    /// are enqueued.
    PlannedCall plan_for(const Call& call);
    std::uint32_t add_schedule(Schedule schedule);
    /// What automatic does with a call, and why.
    Explanation explain(const Call& call) const;

    /// The pair of two ranks, for what the first sends the second: a communicator of its own, with
    /// the same end as this one. Made when it is first needed.
    std::shared_ptr<Core> link(std::uint32_t from, std::uint32_t to);

    /// Runs `body`, which may enqueue and change the current device; when it throws, all ranks end
    /// with the cause.
    template <class Body>
    auto keeping_device(Body body) try {
        const DeviceGuard guard;
        return body();
    } catch (...) {
        fail(std::current_exception());
        throw;
    }

    /// Enqueues one rank's part. When that fails, all ranks end with the cause. Null when the
    /// stream is being captured. To be called inside keeping_device().
    Pending* enqueue(const Call& call, const PlannedCall& plan, std::uint32_t rank,
                     const RankBuffers& buffers);

    /// Blocks until the part has ended; a failure of the device becomes that of the communicator.
    void wait(const Pending& pending);
    bool ready(const Pending& pending);

    /// What ends this communicator, the one that it belongs to and those that belong to it.
    SharedFailure& failure() { return *failure_; }
    /// Throws what made the communicator fail, if anything did.
    void throw_if_failed();
    /// Throws AbortedError that says why when it can't be used any more.
    void throw_if_unusable();

    /// Held while all ranks of a call are enqueued, so that all devices see the calls of all
    /// communicators in one order.
    static std::mutex& launch_mutex();

private:
    /// A buffer that was found good. Asking CUDA again at every call would cost more than the rest.
    struct CheckedBuffer {
        const void* data = nullptr;
        std::uint64_t bytes = 0;
        bool operator==(const CheckedBuffer&) const = default;
    };
    struct RankRecord {
        RankRecord(const Machine& machine, std::uint32_t rank) : view(machine, rank) {}

        SpinLock mutex;
        CheckedBuffer checked[2];  ///< guarded by the communicator's checks_mutex_
        Pending* last = nullptr;
        PendingPool pool;
        PeerView view;
        StagingPlaces input;
        StagingPlaces output;
    };

    Pending* enqueue_locked(const Call& call, const PlannedCall& plan, std::uint32_t rank,
                            const RankBuffers& buffers, StreamRef stream, bool& capturing);
    /// One of the two buffers of a rank in a call: its tensors.
    struct CallBuffer {
        bool is_input = false;
        std::span<const Segment> segments;
        std::size_t element = 0;  ///< bytes

        std::size_t bytes() const;
        void* data(const Segment& segment) const;
    };
    /// Where peers find the buffer instead of where the caller has it, or null when they can use it
    /// there.
    std::byte* stage(const CallBuffer& buffer, const Plan& plan, std::uint32_t rank);
    static void copy_tensors(const CallBuffer& buffer, std::byte* staged, StreamRef stream);
    static const kernels::Segments* write_table(Pending& pending, std::span<const Segment> segments,
                                                const std::byte* staged_input,
                                                std::byte* staged_output, std::size_t element);
    void check_schedule(const Call& call);
    void check_buffers_of(const Call& call, std::uint32_t rank, const RankBuffers& buffers);
    ChoiceKey choice_key(const Call& call) const;
    Decision decide(const Call& call) const;
    PlanKey key_of(const Call& call) const;
    Schedule build_schedule(const PlanKey& key) const;
    CachedPlan& find_or_make_plan(const Call& call);
    kernels::ProgramArguments arguments_of(const Call& call, const PlannedCall& plan,
                                           std::uint32_t rank, const RankBuffers& buffers) const;
    /// Ends everything with this cause, unless there is one already.
    void fail(std::exception_ptr cause) noexcept;
    std::exception_ptr reported_failure() override;
    MissingFlag describe_flag(std::uint32_t number);
    void load_kernels() const;

    const CommunicatorOptions options_;
    const Machine machine_;
    mutable Advisor advisor_;  ///< guards itself
    const RankNames names_;
    const std::shared_ptr<SharedFailure> failure_;
    Connections connections_;
    std::vector<std::unique_ptr<RankRecord>> records_;
    SpinLock checks_mutex_;
    std::mutex plans_mutex_;
    std::vector<std::unique_ptr<CachedPlan>> plans_;
    Call latest_call_;  ///< the latest that has no spans, and its plan: mostly it comes again
    PlannedCall latest_plan_;
    std::vector<Schedule> schedules_;
    std::uint32_t next_flag_number_;
    std::mutex links_mutex_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::shared_ptr<Core>> links_;
};

/// Frees communicators that only graphs held, and no graph holds any more.
void free_released_cores();

/// Elements that a rank's buffers have in a call.
std::uint64_t input_count(const Call& call, std::uint32_t ranks, std::uint32_t rank);
std::uint64_t output_count(const Call& call, std::uint32_t ranks, std::uint32_t rank);

}  // namespace rondo::detail
