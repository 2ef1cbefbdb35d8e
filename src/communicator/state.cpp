// Makes a communicator out of its parts, and ends it.
#include "communicator/state.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "communicator/planners.hpp"
#include "cuda/check.hpp"
#include "cuda/device_guard.hpp"
#include "cuda/graph.hpp"
#include "kernels/kernels.hpp"

namespace rondo::detail {
namespace {

/// How long a failed call's kernels may take to leave. They leave at once when they run; one that
/// still stands in a stream behind other work finds out when it begins, and touches nothing.
constexpr std::chrono::seconds most_settling{10};

bool is_effect(const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const AbortedError&) {
        return true;
    } catch (...) {
        return false;
    }
}

template <class... Arguments>
void require(bool condition, fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    if (!condition) {
        throw InvalidArgument(fmt::format(text, std::forward<Arguments>(arguments)...));
    }
}

}  // namespace

std::mutex& launch_mutex() {
    static std::mutex mutex;
    return mutex;
}

CommunicatorOptions CommunicatorState::complete(CommunicatorOptions options) {
    if (options.devices.empty()) {
        for (const DeviceId device : all_devices()) options.devices.push_back(device.value());
    }
    const Tuning& tuning = options.tuning;
    require(options.devices.size() <= kernels::max_ranks,
            "{} devices were named; a communicator has {} ranks at most", options.devices.size(),
            kernels::max_ranks);
    require(options.timeout.count() >= 0, "timeout is {} ns; it must not be negative",
            options.timeout.count());
    require(tuning.replicas <= kernels::max_blocks, "tuning.replicas is {}; it must be 0 to {}",
            tuning.replicas, kernels::max_blocks);
    require((tuning.depth & (tuning.depth - 1)) == 0 && tuning.depth <= 1024,
            "tuning.depth is {}; it must be 0 or a power of two up to 1024", tuning.depth);
    require(tuning.slot_bytes % 64 == 0, "tuning.slot_bytes is {}; it must be a multiple of 64",
            tuning.slot_bytes);
    require(options.scratch_bytes >= least_scratch_bytes && options.scratch_bytes % 64 == 0,
            "scratch_bytes is {}; it must be a multiple of 64, at least {}", options.scratch_bytes,
            least_scratch_bytes);
    return options;
}

ArenaOptions CommunicatorState::arena_options() const {
    constexpr std::size_t mebibyte = 1 << 20;
    // Those who can't reach each other send through slots that are not in the scratch.
    return {.scratch_bytes = options_.scratch_bytes,
            .table_bytes =
                (machine_.all_reach_all() ? 2 : 6) * mebibyte + ranks() * std::size_t{16} * 1024,
            .pinned_bytes = std::max<std::size_t>(4, ranks()) * mebibyte};
}

CommunicatorState::CommunicatorState(const CommunicatorOptions& options)
    : options_(complete(options)),
      detection_(detected_machine(options_.self_test)),
      machine_(options_.devices, broken_pairs(detection_.get())),
      failure_(machine_.device(0), [this] { return reported_failure(); }),
      arena_(machine_, arena_options()),
      connections_(machine_, arena_, failure_),
      plans_(machine_, arena_, planner_for(machine_, detection_, options_.scratch_bytes),
             {.first_epoch = options_.tuning.first_epoch,
              .tuning = options_.tuning,
              .is_idle = [this](PreparedPlan& plan) { return is_idle(plan); }}),
      device_order_(machine_) {
    for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
        ranks_.push_back(std::make_unique<RankQueue>(machine_, rank));
    }
    load_kernels();
}

/// Loading may wait for running kernels, so it happens before there are any.
void CommunicatorState::load_kernels() const {
    for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
        const DeviceGuard guard(machine_.device(rank));
        for (const ElementType type : all_element_types) {
            for (const ReduceOp op : all_reduce_ops) {
                cudaFuncAttributes attributes{};
                check(cudaFuncGetAttributes(&attributes,
                                            kernels::find_program_kernel(type, op).entry),
                      "cudaFuncGetAttributes");
            }
        }
    }
}

/// Some rank has not made a call that others wait in.
bool CommunicatorState::misses_calls() const {
    const bool uneven = std::ranges::any_of(
        ranks_, [&](const auto& rank) { return rank->collectives != ranks_.front()->collectives; });
    return uneven || std::ranges::any_of(pairs_, [](const auto& it) {
               return it.second.sends != it.second.receives;
           });
}

CommunicatorState::~CommunicatorState() {
    if (misses_calls()) {
        failure_.set(std::make_exception_ptr(
            AbortedError("the communicator was destroyed before all ranks had called")));
    }
    const RelaxedCaptureMode relaxed;
    for (const auto& rank : ranks_) {
        rank->for_each_latest([](const LatestCall& latest) {
            if (latest.get() == nullptr) return;
            try {
                latest.get()->event.synchronize();
            } catch (const Error&) {
                // Whoever waited for the call has been told.
            }
        });
    }
}

void CommunicatorState::fail(std::exception_ptr cause) noexcept {
    if (!failure_.is_set()) {
        cause = with_device_states(machine_, std::move(cause));
    }
    failure_.set(std::move(cause));
}

std::exception_ptr CommunicatorState::reported_failure() {
    const ReportWords words{
        .flag = [this](std::uint32_t number) { return plans_.describe_flag(number); },
        .call = [this](std::uint32_t rank,
                       std::uint32_t number) { return ranks_[rank]->log.describe(number); }};
    std::vector<RankPair> pairs;
    {
        const std::lock_guard lock(pairs_mutex_);
        for (const auto& [ranks, use] : pairs_) pairs.push_back({ranks.first, ranks.second});
    }
    // An effect may be seen before its cause, but not without it: then a second look finds both.
    std::exception_ptr found;
    for (int look = 0; look < 2; ++look) {
        found = nullptr;
        try {
            throw_reported_failure(machine_, connections_, pairs, words);
        } catch (...) {
            found = std::current_exception();
        }
        if (found == nullptr || !is_effect(found)) break;
    }
    return found;
}

/// Nobody's kernel runs any more.
void CommunicatorState::settle() noexcept {
    const auto deadline = std::chrono::steady_clock::now() + most_settling;
    const RelaxedCaptureMode relaxed;
    for (const auto& rank : ranks_) {
        try {
            while (std::chrono::steady_clock::now() < deadline) {
                {
                    const std::lock_guard lock(rank->mutex);
                    if (rank->is_idle()) break;
                }
                std::this_thread::sleep_for(std::chrono::microseconds(50));
            }
        } catch (const Error&) {
            // A device that failed runs nothing.
        }
    }
}

void CommunicatorState::throw_if_failed() {
    if (failure_.get() == nullptr) return;
    settle();
    failure_.set(failure_.get());  // now all have said what they waited for
    std::rethrow_exception(failure_.get());
}

void CommunicatorState::throw_if_unusable() {
    if (const std::exception_ptr failure = failure_.get()) {
        try {
            std::rethrow_exception(failure);
        } catch (const std::exception& cause) {
            throw AbortedError(fmt::format(
                "this communicator is unusable since an earlier call failed: {}", cause.what()));
        }
    }
}

void CommunicatorState::wait(const CallRecord* first) try {
    const RelaxedCaptureMode relaxed;
    for (const CallRecord* record = first; record != nullptr; record = record->next) {
        record->event.synchronize();
    }
} catch (...) {
    fail(std::current_exception());
    throw_if_failed();
}

bool CommunicatorState::ready(const CallRecord* first) try {
    const RelaxedCaptureMode relaxed;
    for (const CallRecord* record = first; record != nullptr; record = record->next) {
        if (!record->event.ready()) return false;
    }
    return true;
} catch (...) {
    fail(std::current_exception());
    return true;
}

bool CommunicatorState::is_idle(PreparedPlan& plan) {
    const RelaxedCaptureMode relaxed;
    for (std::uint32_t i = 0; i < plan.members(); ++i) {
        RankQueue& queue = rank(plan.member(i));
        const std::lock_guard lock(queue.mutex);
        if (plan.is_transfer()) {
            const auto latest = queue.transfers.find({plan.member(1 - i), i == 0});
            if (latest != queue.transfers.end() && !latest->second.has_ended()) return false;
        } else if (plan.latest_call(i) > queue.pool.newest_ended()) {
            return false;
        }
    }
    return true;
}

PinnedPlace CommunicatorState::take_pinned(std::uint32_t rank, CallRecord& record,
                                           std::size_t bytes, bool may_wait) {
    RankQueue& queue = this->rank(rank);
    while (true) {
        if (auto range = arena_.take_pinned(bytes)) {
            const Arena::Range& taken = record.pinned.emplace_back(std::move(*range));
            return {arena_.pinned(taken), arena_.pinned(taken, rank)};
        }
        if (queue.pool.free_memory()) continue;
        const CallRecord* const oldest = queue.pool.oldest_with_memory();
        if (!may_wait || oldest == nullptr || oldest == &record) {
            throw Unsupported(fmt::format(
                "rank {} needs {} bytes of pinned memory for a call, and calls that have not ended "
                "hold the communicator's {}; wait for some of them first",
                rank, bytes, arena_.pinned_bytes()));
        }
        const RelaxedCaptureMode relaxed;
        oldest->event.synchronize();
    }
}

void CommunicatorState::use_pair(const RankPair& pair, bool at_sender) {
    const std::lock_guard lock(pairs_mutex_);
    PairUse& use = pairs_[{pair.from, pair.to}];
    ++(at_sender ? use.sends : use.receives);
}

}  // namespace rondo::detail
