// Detects the topology once, keeps choices by size class.
#include "communicator/advisor.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "topology/detect/detect.hpp"

namespace rondo::detail {
namespace {

constexpr std::uint64_t small_without_topology = 64 << 10;

bool all_are_virtual(const Machine& machine) {
    for (std::uint32_t rank = 0; rank < machine.ranks(); ++rank) {
        const cudaDeviceProp properties = device_properties(machine.device(rank));
        if (!std::string_view(properties.name).ends_with("Virtual GPU")) return false;
    }
    return true;
}

Task task_of(const ChoiceKey& key) {
    return {.collective = key.collective,
            .bytes = key.bytes,
            .root = key.root,
            .destinations = {key.destinations.begin(), key.destinations.end()}};
}

}  // namespace

struct Advisor::Entry {
    ChoiceKey key;  ///< its span points to `destinations`
    std::vector<std::uint32_t> destinations;
    Decision decision;

    bool is_for(const ChoiceKey& other) const {
        return key.collective == other.collective && key.root == other.root &&
               key.bytes == other.bytes && std::ranges::equal(key.destinations, other.destinations);
    }
};

struct Advisor::Knowledge {
    Topology topology;
    std::optional<Planner> planner;  ///< none: the machine could not be looked at
};

Advisor::Advisor(const Machine& machine)
    : machine_(machine), one_memory_(machine.all_reach_all() && all_are_virtual(machine)) {}

Advisor::~Advisor() = default;

Advisor::Knowledge& Advisor::knowledge() {
    if (knowledge_ != nullptr) return *knowledge_;
    knowledge_ = std::make_unique<Knowledge>();
    RoutingOptions options;
    for (std::uint32_t rank = 0; rank < machine_.ranks(); ++rank) {
        options.gpus.push_back(machine_.device(rank).value());
    }
    try {
        knowledge_->topology = detect({.self_test = false}).topology;
        // Peers reach each other one way only: over the fabric where it joins all.
        options.fabric_only = true;
        if (!Routing(knowledge_->topology, options).joins_all()) options.fabric_only = false;
        knowledge_->planner.emplace(knowledge_->topology, options);
    } catch (const TopologyError&) {
        // The rule below decide() serves machines that nothing can be found out about.
    }
    return *knowledge_;
}

Decision Advisor::decide(const ChoiceKey& key) {
    const std::lock_guard lock(mutex_);
    for (const auto& entry : entries_) {
        if (entry->is_for(key)) return entry->decision;
    }
    auto entry = std::make_unique<Entry>();
    entry->destinations.assign(key.destinations.begin(), key.destinations.end());
    entry->key = key;
    entry->key.destinations = entry->destinations;
    const Knowledge& known = knowledge();
    if (known.planner) {
        const Choice choice = known.planner->choose(task_of(key));
        entry->decision = {choice.chosen().strategy, choice.chosen().cutting};
    } else {
        entry->decision.strategy = machine_.all_reach_all()              ? Strategy::direct()
                                   : key.bytes <= small_without_topology ? Strategy::tree(2)
                                                                         : Strategy::ring();
    }
    entries_.push_back(std::move(entry));
    return entries_.back()->decision;
}

Choice Advisor::explain(const ChoiceKey& key) {
    const std::lock_guard lock(mutex_);
    const Knowledge& known = knowledge();
    if (!known.planner) {
        throw Unsupported(
            "the machine's topology could not be detected; rondo-topo detect says "
            "why");
    }
    return known.planner->choose(task_of(key), true);
}

void Advisor::complete(Problem& problem, const Strategy& strategy) {
    if (one_memory_) return;
    const std::lock_guard lock(mutex_);
    const Knowledge& known = knowledge();
    if (known.planner) known.planner->complete(problem, strategy);
}

}  // namespace rondo::detail
