// Evaluates candidates by simulation and keeps what was found.
#include "strategy/planner.hpp"

#include <algorithm>
#include <bit>
#include <list>
#include <mutex>
#include <span>

#include <fmt/format.h>

#include "kernels/program.hpp"
#include "schedule/lower.hpp"
#include "strategy/explain.hpp"
#include "strategy/prepared_schedule.hpp"
#include "topology/simulate/planes.hpp"

namespace rondo {
namespace {

/// What can be faster than the best by less than this is not simulated.
constexpr double worth_looking = 0.985;
/// A search ends when its first partition takes so many times as long as the best so far.
constexpr double may_improve = 1.15;
constexpr std::size_t most_plans = 256;
/// Steps of all schedules that are kept: some hundred MB at most.
constexpr std::size_t most_kept_steps = 1'000'000;

bool chooses_destinations(Collective collective) {
    return collective == Collective::reduce || collective == Collective::broadcast;
}

/// The latest entries, as many as their weights allow. Keys are compared one by one: there are few.
template <class Key, class Value>
class Memo {
public:
    explicit Memo(std::size_t most) : most_(most) {}

    std::shared_ptr<const Value> find(const Key& key) {
        const std::lock_guard lock(mutex_);
        for (auto it = entries_.begin(); it != entries_.end(); ++it) {
            if (it->key == key) {
                entries_.splice(entries_.begin(), entries_, it);
                return it->value;
            }
        }
        return nullptr;
    }

    /// What is there already stays.
    std::shared_ptr<const Value> keep(Key key, std::shared_ptr<const Value> value,
                                      std::size_t weight) {
        if (auto known = find(key)) return known;
        const std::lock_guard lock(mutex_);
        entries_.push_front({std::move(key), value, weight});
        weight_ += weight;
        while (weight_ > most_ && entries_.size() > 1) {
            weight_ -= entries_.back().weight;
            entries_.pop_back();
        }
        return value;
    }

private:
    struct Entry {
        Key key;
        std::shared_ptr<const Value> value;
        std::size_t weight;
    };

    const std::size_t most_;
    std::mutex mutex_;
    std::list<Entry> entries_;  ///< the latest first
    std::size_t weight_ = 0;
};

/// What a prepared schedule depends on.
struct ScheduleKey {
    Strategy strategy = {};
    Collective collective = Collective::all_reduce;
    std::uint32_t root = 0;
    std::vector<std::uint32_t> destinations = {};
    std::uint64_t count = 0;  ///< only where the schedule depends on it
    std::uint32_t variant = 0;
    std::uint32_t depth = 0;

    bool operator==(const ScheduleKey&) const = default;
};

RoutingOptions routing_options(const Topology& topology, const PlannerOptions& options) {
    RoutingOptions result{.gpus = options.gpus, .model = options.model, .fabric_only = true};
    // Peers reach each other one way only: over the fabric where it joins all.
    result.fabric_only =
        options.fabric_only ? *options.fabric_only : Routing(topology, result).joins_all();
    return result;
}

/// One way to build a strategy, and the best partition of it that was found.
struct Evaluation {
    Strategy strategy = {};
    std::string problem = {};
    bool is_unsupported = false;  ///< rather than wrong
    std::shared_ptr<const PreparedSchedule> prepared = {};
    std::optional<PartitionSearch> search = {};
    double least_seconds = 0;
    PartitionResult result = {};

    double seconds() const { return std::max(least_seconds, result.seconds); }
};

/// Those that can be done first, the fastest first; equal ones stay in their order.
bool is_faster(const Evaluation& a, const Evaluation& b) {
    if (a.problem.empty() != b.problem.empty()) return a.problem.empty();
    if (a.result.simulated != b.result.simulated) return a.result.simulated;
    return a.seconds() < b.seconds();
}

const Evaluation& value_of(const Evaluation* it) {
    return *it;
}

/// Simulates those that may be faster than all others, in order of what their links alone take.
/// Returns the time of the best.
double simulate_promising(std::span<Evaluation* const> list) {
    double best = 1e300;
    for (Evaluation* const it : list) {
        if (!it->problem.empty() || it->least_seconds >= best * worth_looking) continue;
        if (!it->result.simulated) it->result = it->search->run(best * may_improve);
        if (it->result.simulated) best = std::min(best, it->result.seconds);
    }
    return best;
}

}  // namespace

struct Planner::State {
    State(const Topology& given, PlannerOptions wanted)
        : options(std::move(wanted)),
          topology(merge_planes(given)),
          machine(topology, routing_options(topology, options)) {}

    void check(const Request& request) const;
    std::vector<Strategy> strategies(const Request& request) const;
    BuildInput build_input(const Request& request, const Strategy& strategy) const;
    std::shared_ptr<const PreparedSchedule> prepare(const BuildInput& input) const;
    const Routing& routing(const Strategy& strategy, Collective collective,
                           std::uint32_t root) const;
    PartitionLimits limits(const Tuning& tuning) const;
    std::vector<Evaluation> evaluations(const Request& request) const;
    Plan choose(const Request& request, bool all) const;

    const PlannerOptions options;
    const Topology topology;
    const MachineView machine;
    mutable Memo<Request, Plan> plans{most_plans};
    mutable Memo<ScheduleKey, PreparedSchedule> schedules{most_kept_steps};
};

std::uint64_t size_class(std::uint64_t bytes) {
    constexpr std::uint64_t largest = std::uint64_t{1} << 63;
    if (bytes <= 8) return 8;
    if (bytes >= largest) return largest;
    const std::uint64_t step = std::bit_floor(bytes - 1) / 8;
    return (bytes + step - 1) / step * step;
}

void Planner::State::check(const Request& request) const {
    const std::uint32_t ranks = machine.ranks();
    if (ranks > kernels::max_step_spans) {
        throw Unsupported(
            fmt::format("{} ranks; there may be {} at most", ranks, kernels::max_step_spans));
    }
    if (request.root >= ranks) {
        throw InvalidArgument(
            fmt::format("root is {}, but there are {} ranks", request.root, ranks));
    }
    for (const std::uint32_t rank : request.destinations) {
        if (rank >= ranks) {
            throw InvalidArgument(
                fmt::format("destination {} does not exist, there are {} ranks", rank, ranks));
        }
    }
}

const Routing& Planner::State::routing(const Strategy& strategy, Collective collective,
                                       std::uint32_t root) const {
    if (entry_of(strategy).follows_trees) {
        const TreePacking& trees = machine.trees(collective, root);
        if (trees.routing != nullptr) return *trees.routing;
    }
    return *machine.routing();
}

BuildInput Planner::State::build_input(const Request& request, const Strategy& strategy) const {
    const std::uint32_t usual_depth = request.bytes() <= 64 << 10 ? 2 : 4;
    return {.machine = machine,
            .collective = request.collective,
            .root = request.root,
            .destinations = request.destinations,
            .count = request.count,
            .strategy = strategy,
            .depth = request.tuning.depth != 0 ? request.tuning.depth : usual_depth};
}

std::vector<Strategy> Planner::State::strategies(const Request& request) const {
    std::vector<Strategy> result;
    const auto add_forms = [&](const StrategyEntry& entry) {
        if (entry.forms == nullptr) {
            if (entry.parameter.empty()) result.push_back(Strategy::named(entry.name));
            return;
        }
        for (const std::uint32_t form :
             entry.forms(build_input(request, Strategy()), request.bytes())) {
            result.push_back(Strategy::named(entry.name, form));
        }
    };
    if (request.strategy.is_automatic()) {
        for (const StrategyEntry* const entry : strategy_table()) add_forms(*entry);
    } else if (entry_of(request.strategy).any_form == request.strategy.parameter()) {
        add_forms(entry_of(request.strategy));
    } else {
        result.push_back(request.strategy);
    }
    return result;
}

std::shared_ptr<const PreparedSchedule> Planner::State::prepare(const BuildInput& input) const {
    const bool by_count =
        entry_of(input.strategy).limits_units && input.count < input.strategy.parameter();
    const ScheduleKey key{input.strategy,     input.collective,           input.root,
                          input.destinations, by_count ? input.count : 0, input.variant,
                          input.depth};
    if (auto known = schedules.find(key)) return known;
    auto made = std::make_shared<const PreparedSchedule>(
        prepare_schedule(build(input), routing(input.strategy, input.collective, input.root)));
    const std::size_t steps = made->steps;
    return schedules.keep(key, std::move(made), steps);
}

PartitionLimits Planner::State::limits(const Tuning& tuning) const {
    return {.max_blocks = options.max_blocks,
            .scratch_bytes = options.scratch_bytes,
            .replicas = tuning.replicas,
            .slot_bytes = tuning.slot_bytes};
}

std::vector<Evaluation> Planner::State::evaluations(const Request& request) const {
    std::vector<Evaluation> result;
    const PartitionLimits limits = this->limits(request.tuning);
    for (const Strategy& strategy : strategies(request)) {
        BuildInput input = build_input(request, strategy);
        const std::uint32_t depth = input.depth;
        const auto variants = entry_of(strategy).variants;
        const auto numbers =
            variants == nullptr ? std::vector<std::uint32_t>{0} : variants(input, request.bytes());
        for (const std::uint32_t variant : numbers) {
            Evaluation& evaluation = result.emplace_back(Evaluation{.strategy = strategy});
            input.variant = variant;
            input.depth = depth;
            try {
                evaluation.prepared = prepare(input);
                if (request.uneven_pairs && relays(evaluation.prepared->schedule)) {
                    throw Unsupported(
                        fmt::format("{} passes on parts of all_to_all, so all must have one length",
                                    to_string(strategy)));
                }
                evaluation.search.emplace(*evaluation.prepared, request.bytes(), limits);
                if (request.tuning.depth == 0 && input.depth > 2 &&
                    !evaluation.search->has_room()) {
                    // Larger slots are worth more than more of them.
                    input.depth = 2;
                    evaluation.prepared = prepare(input);
                    evaluation.search.emplace(*evaluation.prepared, request.bytes(), limits);
                }
                evaluation.least_seconds = evaluation.search->least_seconds();
            } catch (const Error& error) {
                evaluation.problem = error.what();
                evaluation.is_unsupported = dynamic_cast<const Unsupported*>(&error) != nullptr;
            }
        }
    }
    std::ranges::stable_sort(result, is_faster);
    return result;
}

Plan Planner::State::choose(const Request& request, bool all) const {
    check(request);
    std::vector<Evaluation> found = evaluations(request);
    std::vector<Evaluation*> everything;
    for (Evaluation& it : found) everything.push_back(&it);
    const auto winner = [&] { return *std::ranges::min_element(everything, is_faster, value_of); };
    simulate_promising(everything);
    if (!winner()->problem.empty()) {
        const std::string text = request.strategy.is_automatic()
                                     ? "no strategy can do it: " + winner()->problem
                                     : winner()->problem;
        if (winner()->is_unsupported) throw Unsupported(text);
        throw InvalidArgument(text);
    }
    // What its caller would get who names the strategy: others must not keep it from looking.
    const Strategy chosen = winner()->strategy;
    std::vector<Evaluation*> ways;
    for (Evaluation& it : found) {
        if (it.strategy == chosen) ways.push_back(&it);
    }
    simulate_promising(ways);
    const Evaluation& best = **std::ranges::min_element(ways, is_faster, value_of);
    if (all) {
        for (Evaluation& it : found) {
            if (it.problem.empty() && !it.result.simulated) it.result = it.search->run(1e300);
        }
    }
    const PartitionResult result =
        best.search->with_fewer_replicas(best.search->polish(best.result));
    Plan plan{.strategy = chosen,
              .schedule = best.prepared->schedule,
              .partition = result.partition,
              .blocks = best.prepared->lanes * result.partition.replicas,
              .seconds = result.seconds};
    plan.candidates.push_back({chosen, result.partition, result.seconds, true, ""});
    std::ranges::stable_sort(everything, is_faster, value_of);
    for (const Evaluation* const it : everything) {
        const bool known = std::ranges::any_of(plan.candidates, [&](const PlanCandidate& other) {
            return other.strategy == it->strategy;
        });
        if (known) continue;
        plan.candidates.push_back(
            {it->strategy, it->result.partition,
             it->problem.empty() ? std::max(it->seconds(), result.seconds) : 0,
             it->result.simulated, it->problem});
    }
    return plan;
}

Planner::Planner(const Topology& topology, PlannerOptions options)
    : state_(std::make_unique<State>(topology, std::move(options))) {}

Planner::~Planner() = default;

std::uint32_t Planner::ranks() const {
    return state_->machine.ranks();
}

const MachineView& Planner::machine() const {
    return state_->machine;
}

Request Planner::canonical(const Request& request) const {
    Request result = request;
    // Where packs are fewer than elements, elements are what counts.
    const bool by_count = !request.strategy.is_automatic() &&
                          entry_of(request.strategy).limits_units &&
                          request.count < request.strategy.parameter();
    if (!by_count) {
        result.count = size_class(request.bytes());
        result.element_bytes = 1;
    }
    if (!has_root(request.collective)) result.root = 0;
    if (!chooses_destinations(request.collective)) result.destinations.clear();
    std::ranges::sort(result.destinations);
    const auto repeated = std::ranges::unique(result.destinations);
    result.destinations.erase(repeated.begin(), repeated.end());
    if (result.destinations.size() == ranks()) result.destinations.clear();
    result.tuning.first_epoch = 0;
    return result;
}

std::shared_ptr<const Plan> Planner::plan(const Request& request) const {
    Request key = canonical(request);
    if (auto known = state_->plans.find(key)) return known;
    auto made = std::make_shared<const Plan>(state_->choose(key, false));
    return state_->plans.keep(std::move(key), std::move(made), 1);
}

Plan Planner::plan_custom(Schedule schedule, std::uint64_t bytes, const Tuning& tuning) const {
    const PreparedSchedule prepared =
        prepare_schedule(std::move(schedule), *state_->machine.routing());
    const PartitionSearch search(prepared, size_class(bytes), state_->limits(tuning));
    const PartitionResult found = search.with_fewer_replicas(search.polish(search.run(1e300)));
    return {.schedule = prepared.schedule,
            .partition = found.partition,
            .blocks = prepared.lanes * found.partition.replicas,
            .seconds = found.seconds};
}

Plan Planner::explain(const Request& request) const {
    const Request key = canonical(request);
    Plan plan = state_->choose(key, true);
    plan.reason = explain_plan(*this, key, plan);
    return plan;
}

double Planner::bound(const Request& request) const {
    return state_->machine.trees(request.collective, request.root).throughput;
}

const Routing& Planner::routing(const Plan& plan) const {
    return state_->routing(plan.strategy, plan.schedule.collective, plan.schedule.root);
}

Simulation Planner::simulate(const Plan& plan, const Request& request,
                             SimulationOptions options) const {
    options.bytes = request.bytes();
    options.slot_bytes = plan.partition.slot_bytes;
    options.replicas = plan.partition.replicas;
    return rondo::simulate(plan.schedule, routing(plan), options);
}

}  // namespace rondo
