// Makes plans, enqueues calls, keeps them in order and remembers what went wrong.
#include "communicator/core.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cuda/check.hpp"
#include "cuda/device_guard.hpp"
#include "cuda/graph.hpp"
#include "kernels/kernels.hpp"
#include "kernels/program_numbers.hpp"

namespace rondo::detail {
namespace {

CommunicatorOptions complete(CommunicatorOptions options) {
    if (options.devices.empty()) {
        for (const DeviceId device : all_devices()) options.devices.push_back(device.value());
    }
    const Tuning& tuning = options.tuning;
    if (options.timeout.count() < 0) {
        throw InvalidArgument(
            fmt::format("timeout is {} ns; it must not be negative", options.timeout.count()));
    }
    if (tuning.lanes > kernels::max_lanes) {
        throw InvalidArgument(fmt::format("tuning.lanes is {}; it must be 0 to {}", tuning.lanes,
                                          kernels::max_lanes));
    }
    if ((tuning.depth & (tuning.depth - 1)) != 0 || tuning.depth > 1024) {
        throw InvalidArgument(fmt::format(
            "tuning.depth is {}; it must be 0 or a power of two up to 1024", tuning.depth));
    }
    if (tuning.slot_bytes % 64 != 0) {
        throw InvalidArgument(
            fmt::format("tuning.slot_bytes is {}; it must be a multiple of 64", tuning.slot_bytes));
    }
    return options;
}

bool has_spans(const Call& call) {
    return !call.destinations.empty() || !call.counts.empty();
}

/// Whether two calls without spans have the same plan, cut and kernel.
bool plans_alike(const Call& a, const Call& b) {
    return a.count == b.count && a.collective == b.collective && a.type == b.type && a.op == b.op &&
           a.root == b.root && a.schedule == b.schedule && a.strategy == b.strategy;
}

}  // namespace

std::uint64_t input_count(const Call& call, std::uint32_t ranks, std::uint32_t rank) {
    switch (call.collective) {
        case Collective::all_gather:
            return call.counts.empty() ? call.count / ranks : call.counts[rank];
        case Collective::broadcast:
            return rank == call.root ? call.count : 0;
        default:
            return call.count;
    }
}

std::uint64_t output_count(const Call& call, std::uint32_t ranks, std::uint32_t rank) {
    if (call.collective == Collective::reduce_scatter) {
        return call.counts.empty() ? call.count / ranks : call.counts[rank];
    }
    const bool wanted = call.destinations.empty() ||
                        std::find(call.destinations.begin(), call.destinations.end(), rank) !=
                            call.destinations.end();
    return wanted ? call.count : 0;
}

Core::Core(const CommunicatorOptions& options, const PairOrigin* pair)
    : options_(complete(options)),
      machine_(options_.devices),
      advisor_(machine_),
      names_(pair == nullptr ? RankNames(machine_.ranks())
                             : RankNames(pair->sender, pair->receiver)),
      failure_(pair == nullptr ? std::make_shared<SharedFailure>(machine_.device(0))
                               : pair->failure),
      connections_(machine_, *failure_),
      next_flag_number_(kernels::first_program_flag) {
    for (std::uint32_t rank = 0; rank < machine_.ranks(); ++rank) {
        records_.push_back(std::make_unique<RankRecord>(machine_, rank));
    }
    load_kernels();
    failure_->add(this);
}

/// Loading may wait for running kernels, so it happens before there are any.
void Core::load_kernels() const {
    for (std::uint32_t rank = 0; rank < machine_.ranks(); ++rank) {
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

Core::~Core() {
    failure_->remove(this);
    for (const auto& record : records_) {
        if (record->last != nullptr) {
            try {
                record->last->event.synchronize();
            } catch (const Error&) {
                // Whoever waited for the call has been told.
            }
        }
    }
}

std::mutex& Core::launch_mutex() {
    static std::mutex mutex;
    return mutex;
}

PlannedCall Core::plan_for(const Call& call) {
    const bool may_be_kept = !has_spans(call);
    if (may_be_kept) {
        const std::lock_guard lock(plans_mutex_);
        if (latest_plan_.cached != nullptr && plans_alike(call, latest_call_)) {
            return latest_plan_;
        }
    }
    CachedPlan& cached = find_or_make_plan(call);
    const PlannedCall planned{&cached, cached.plan->cut(call.count, size_of(call.type)),
                              kernels::find_program_kernel(call.type, call.op)};
    if (may_be_kept) {
        const std::lock_guard lock(plans_mutex_);
        latest_call_ = call;
        latest_plan_ = planned;
    }
    return planned;
}

CachedPlan& Core::find_or_make_plan(const Call& call) {
    const PlanKey key = key_of(call);
    const std::lock_guard lock(plans_mutex_);
    const std::uint64_t hash = key.hash();
    for (const auto& cached : plans_) {
        if (cached->hash == hash && cached->key == key) {
            return *cached;
        }
    }
    const RelaxedCaptureMode relaxed;
    auto cached = std::make_unique<CachedPlan>();
    cached->destinations.assign(key.destinations.begin(), key.destinations.end());
    cached->counts.assign(key.counts.begin(), key.counts.end());
    cached->key = key;
    cached->key.destinations = cached->destinations;
    cached->key.counts = cached->counts;
    cached->hash = hash;
    cached->plan = std::make_unique<Plan>(machine_, build_schedule(key),
                                          PlanOptions{.slot_bytes = key.slot_bytes,
                                                      .first_epoch = options_.tuning.first_epoch,
                                                      .first_flag_number = next_flag_number_});
    next_flag_number_ += cached->plan->flag_count();
    plans_.push_back(std::move(cached));
    return *plans_.back();
}

std::shared_ptr<Core> Core::link(std::uint32_t from, std::uint32_t to) {
    const std::lock_guard lock(links_mutex_);
    std::shared_ptr<Core>& known = links_[{from, to}];
    if (known == nullptr) {
        CommunicatorOptions options = options_;
        options.devices = {machine_.device(from).value(), machine_.device(to).value()};
        options.strategy = Strategy::centralized();
        const RelaxedCaptureMode relaxed;
        const PairOrigin pair{failure_, from, to};
        known = std::make_shared<Core>(options, &pair);
    }
    return known;
}

std::uint32_t Core::add_schedule(Schedule schedule) {
    require_verified(schedule);
    if (schedule.ranks != machine_.ranks()) {
        throw InvalidArgument(fmt::format("the schedule '{}' is for {} ranks; there are {}",
                                          schedule.name, schedule.ranks, machine_.ranks()));
    }
    const std::lock_guard lock(plans_mutex_);
    schedules_.push_back(std::move(schedule));
    return static_cast<std::uint32_t>(schedules_.size());
}

Explanation Core::explain(const Call& call) const {
    const Choice choice = advisor_.explain(choice_key(call));
    Explanation result{.strategy = key_of(call).strategy, .reason = choice.reason};
    for (const Candidate& candidate : choice.candidates) {
        if (!candidate.problem.empty()) continue;
        if (candidate.strategy == result.strategy) {
            result.seconds = candidate.seconds;
        } else if (result.runner_up.kind() == Strategy::Kind::automatic) {
            result.runner_up = candidate.strategy;
            result.runner_up_seconds = candidate.seconds;
        }
    }
    if (call.strategy.kind() != Strategy::Kind::automatic) {
        result.reason =
            fmt::format("{} was asked for. {}", to_string(result.strategy), result.reason);
    } else if (advisor_.is_one_memory()) {
        result.reason = fmt::format(
            "The devices are virtual GPUs in one memory, where direct was measured to be the "
            "fastest at every size: {} is taken without simulation.",
            to_string(result.strategy));
    }
    return result;
}

void Core::wait(const Pending& pending) try { pending.event.synchronize(); } catch (...) {
    fail(std::current_exception());
    throw_if_failed();
}

bool Core::ready(const Pending& pending) try { return pending.event.ready(); } catch (...) {
    fail(std::current_exception());
    return true;
}

void Core::fail(std::exception_ptr cause) noexcept {
    if (!failure_->is_set()) {
        cause = with_device_states(machine_, names_, std::move(cause));
    }
    failure_->set(std::move(cause));
}

std::exception_ptr Core::reported_failure() try {
    throw_reported_failure(machine_, names_, connections_,
                           [this](std::uint32_t number) { return describe_flag(number); });
    return nullptr;
} catch (...) {
    return std::current_exception();
}

void Core::throw_if_failed() {
    if (const std::exception_ptr cause = failure_->get()) {
        std::rethrow_exception(cause);
    }
}

void Core::throw_if_unusable() {
    try {
        throw_if_failed();
    } catch (const std::exception& cause) {
        throw AbortedError(fmt::format(
            "this communicator is unusable since an earlier call failed: {}", cause.what()));
    }
}

MissingFlag Core::describe_flag(std::uint32_t number) {
    const std::lock_guard lock(plans_mutex_);
    for (const auto& cached : plans_) {
        const Plan& plan = *cached->plan;
        if (number >= plan.first_flag_number() &&
            number - plan.first_flag_number() < plan.flag_count()) {
            FlagInfo flag = plan.flag(number);
            const std::uint32_t rank = flag.writer_rank;
            flag.writer_rank = names_.of(rank);
            return {fmt::format("{} ({} by {})", describe(flag),
                                names_.is_pair() ? "send" : to_string(plan.schedule().collective),
                                plan.schedule().name),
                    rank};
        }
    }
    return {fmt::format("flag {}", number), 0};
}

}  // namespace rondo::detail
