// What a plan depends on, and how the library chooses what the caller left open.
#include <algorithm>
#include <bit>

#include "communicator/core.hpp"
#include "strategy/build.hpp"

namespace rondo::detail {
namespace {

constexpr std::uint64_t small_message = 64 << 10;

/// One shot moves N times as much, but has one step less.
constexpr std::uint64_t one_shot_traffic = 8 << 10;

class Hash {
public:
    void add(std::uint64_t value) {
        for (int byte = 0; byte < 8; ++byte) {
            state_ = (state_ ^ (value >> 8 * byte & 0xff)) * 0x100000001b3;
        }
    }
    std::uint64_t value() const { return state_; }

private:
    std::uint64_t state_ = 0xcbf29ce484222325;
};

bool one_shot_applies(Collective collective) {
    return collective == Collective::all_reduce || collective == Collective::reduce_scatter;
}

/// In one memory nothing is far away, and one thread runs all of a small call: there one rank folds
/// everything, with the fewest flags.
constexpr std::uint64_t one_folds_traffic = 32 << 10;

/// direct by size, where the caller has not said its shots.
void choose_shots(PlanKey& key, std::uint64_t traffic, bool one_memory) {
    if (key.strategy != Strategy::direct()) return;
    const bool one_shot =
        !one_memory && one_shot_applies(key.collective) && traffic <= one_shot_traffic;
    key.strategy = Strategy::direct(one_shot ? 1 : 2);
    key.one_folds = one_memory && traffic <= one_folds_traffic;
}

/// One unit needs two lanes, one for the way to its root and one for the way back.
bool uses_pairs_of_lanes(const Strategy& strategy) {
    return strategy.kind() != Strategy::Kind::ring && strategy.kind() != Strategy::Kind::direct;
}

/// How many units the message has, roughly: chunks are made for them.
std::uint64_t units_of(const Strategy& strategy, const Call& call, std::uint32_t ranks,
                       std::uint32_t lanes) {
    const bool owned =
        call.collective == Collective::reduce_scatter || call.collective == Collective::all_gather;
    if (owned) return ranks;
    switch (strategy.kind()) {
        case Strategy::Kind::ring:
            return call.collective == Collective::all_reduce ? std::uint64_t{ranks} * lanes
                                                             : std::max(1u, lanes / 2);
        case Strategy::Kind::direct:
            return 1;
        case Strategy::Kind::forest:
            return std::uint64_t{8} * std::max(1u, lanes / 2);
        case Strategy::Kind::hierarchical_copy:
            return strategy.num_packs();
        default:
            return std::max(1u, lanes / 2);
    }
}

}  // namespace

bool PlanKey::operator==(const PlanKey& other) const {
    return collective == other.collective && strategy == other.strategy &&
           schedule == other.schedule && root == other.root && lanes == other.lanes &&
           depth == other.depth && slot_bytes == other.slot_bytes &&
           units_per_lane == other.units_per_lane && leaves_push == other.leaves_push &&
           one_folds == other.one_folds && fetches == other.fetches &&
           std::ranges::equal(destinations, other.destinations) &&
           std::ranges::equal(counts, other.counts);
}

std::uint64_t PlanKey::hash() const {
    Hash hash;
    for (const std::uint64_t value :
         {static_cast<std::uint64_t>(collective), static_cast<std::uint64_t>(strategy.kind()),
          std::uint64_t{strategy.arity()}, std::uint64_t{schedule}, std::uint64_t{root},
          std::uint64_t{lanes}, std::uint64_t{depth}, slot_bytes, std::uint64_t{units_per_lane},
          std::uint64_t{leaves_push}, std::uint64_t{one_folds}, std::uint64_t{fetches},
          std::uint64_t{destinations.size()}}) {
        hash.add(value);
    }
    for (const std::uint32_t rank : destinations) hash.add(rank);
    for (const std::uint64_t count : counts) hash.add(count);
    return hash.value();
}

ChoiceKey Core::choice_key(const Call& call) const {
    return {.collective = call.collective,
            .root = call.root,
            .bytes = size_class(call.count * size_of(call.type)),
            .destinations = call.destinations};
}

Decision Core::decide(const Call& call) const {
    return advisor_.is_one_memory() ? Decision{.strategy = Strategy::direct()}
                                    : advisor_.decide(choice_key(call));
}

PlanKey Core::key_of(const Call& call) const {
    const std::uint64_t bytes = call.count * size_of(call.type);
    const bool small = bytes <= small_message;
    const bool one_memory = advisor_.is_one_memory();
    PlanKey key{.collective = call.collective,
                .schedule = call.schedule,
                .root = call.root,
                .destinations = call.destinations,
                .counts = call.counts};
    const Tuning& tuning = options_.tuning;
    Decision decision{.strategy = call.strategy};
    if (call.schedule == 0 && call.strategy.kind() == Strategy::Kind::automatic) {
        decision = decide(call);
    }
    key.strategy = call.schedule != 0 ? Strategy() : decision.strategy;
    choose_shots(key, bytes * machine_.ranks(), one_memory);
    // In one memory, what a lane's blocks pass on should stay in the cache of the core that runs
    // them, and what a chunk's way up has read should still be there when its way down writes it:
    // two cores need two lanes or pairs of them, and slots must be small and few.
    key.depth = tuning.depth != 0 ? tuning.depth : small || one_memory ? 2 : 4;
    const std::uint32_t many = one_memory && uses_pairs_of_lanes(key.strategy) ? 4 : 2;
    key.lanes = tuning.lanes != 0 ? tuning.lanes : small ? 1 : many;
    if (decision.cutting.slot_bytes != 0) {
        key.lanes = tuning.lanes != 0 ? tuning.lanes : decision.cutting.lanes;
        key.depth = tuning.depth != 0 ? tuning.depth : decision.cutting.depth;
        key.units_per_lane = decision.cutting.units_per_lane;
        key.leaves_push = decision.cutting.leaves_push;
        key.fetches = decision.cutting.fetches;
        key.slot_bytes = tuning.slot_bytes != 0 ? tuning.slot_bytes : decision.cutting.slot_bytes;
        return key;
    }
    // Small messages fit into one slot; large ones are cut so that chunks overlap.
    const std::uint64_t unit_bytes =
        bytes / units_of(key.strategy, call, machine_.ranks(), key.lanes) + 64;
    const std::uint64_t wanted = small ? std::min(bytes + 64, unit_bytes + 64) : unit_bytes / 8;
    const bool cached = one_memory && key.strategy.kind() != Strategy::Kind::direct;
    const std::uint64_t most = cached ? 16 << 10 : 128 << 10;
    key.slot_bytes = tuning.slot_bytes != 0
                         ? tuning.slot_bytes
                         : std::clamp<std::uint64_t>(std::bit_ceil(wanted), 1 << 10, most);
    return key;
}

Schedule Core::build_schedule(const PlanKey& key) const {
    if (key.schedule != 0) {
        return schedules_[key.schedule - 1];
    }
    Problem problem{.collective = key.collective,
                    .ranks = machine_.ranks(),
                    .root = key.root,
                    .destinations = {key.destinations.begin(), key.destinations.end()},
                    .counts = {key.counts.begin(), key.counts.end()},
                    .order = machine_.ring_order(),
                    .halves = machine_.halves(),
                    .lanes = key.lanes,
                    .depth = key.depth,
                    .units_per_lane = key.units_per_lane,
                    .leaves_push = key.leaves_push,
                    .one_folds = key.one_folds,
                    .fetches = key.fetches};
    if (key.strategy.kind() == Strategy::Kind::reduction_to_one_device) {
        for (std::uint32_t rank = 0; rank < machine_.ranks(); ++rank) {
            if (machine_.device(rank).value() == key.strategy.device()) problem.centre = rank;
        }
        if (problem.centre == UINT32_MAX) {
            throw InvalidArgument(to_string(key.strategy) + ": device " +
                                  std::to_string(key.strategy.device()) +
                                  " is not in the communicator");
        }
    }
    advisor_.complete(problem, key.strategy);
    return build(key.strategy, problem);
}

}  // namespace rondo::detail
