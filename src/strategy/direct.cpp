// Direct: everybody exchanges with everybody.
//
// One shot: everybody sends its input to everybody and folds all of it. One hop; each rank sends
// N - 1 messages. For small messages.
//
// Two shots: the owner of a unit gets it from all, folds it and gives it to all. Two hops; each
// rank sends 2(N - 1)/N of the message. The owner reads inputs and writes outputs where it reaches
// them all (pull), without scratch; or inputs are sent to it (push), which PCI and memory out of
// reach need. For small messages one rank may own everything (single). Of a broadcast and of a
// reduction the others own units, not the root, so that it sends or receives every byte once.
#include <algorithm>
#include <numeric>

#include "strategy/exchange.hpp"
#include "strategy/on_trees.hpp"

namespace rondo {
namespace {

enum Variant : std::uint32_t { pull, push, single };

/// reduce and broadcast between a root and the others.
bool is_rooted(Collective collective) {
    return collective == Collective::reduce || collective == Collective::broadcast;
}

bool has_one_shot(Collective collective) {
    return collective == Collective::all_reduce || collective == Collective::reduce_scatter;
}

/// all_reduce and reduce_scatter.
Schedule build_one_shot(const BuildInput& input) {
    Schedule start = start_schedule(input);
    cut_evenly(start, 1);
    ScheduleBuilder builder(std::move(start), input.depth);
    const std::uint32_t ranks = input.ranks();
    const bool scatter = input.collective == Collective::reduce_scatter;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const std::uint32_t lane = builder.lane(rank, 0);
        Step send{.unit = 0, .sources = {input_of(rank)}};
        for (std::uint32_t hop = 1; hop < ranks; ++hop) {
            const std::uint32_t peer = (rank + hop) % ranks;
            const Operand channel = builder.channel(lane, builder.lane(peer, 0));
            if (scatter) {
                builder.add(lane,
                            {.unit = peer, .sources = {input_of(rank)}, .destinations = {channel}});
            } else {
                send.destinations.push_back(channel);
            }
        }
        if (!send.destinations.empty()) builder.add(lane, std::move(send));
        Step fold{.unit = scatter ? rank : 0, .destinations = {output_of(rank)}, .finishes = true};
        for (std::uint32_t peer = 0; peer < ranks; ++peer) {
            fold.sources.push_back(peer == rank ? input_of(rank)
                                                : builder.channel(builder.lane(peer, 0), lane));
        }
        builder.add(lane, std::move(fold));
    }
    return builder.take();
}

/// What the owner of a unit reads and writes, when it does all of it.
Step owner_step(const Schedule& schedule, std::uint32_t unit) {
    Step step{.unit = unit};
    if (reduces(schedule.collective)) {
        step.finishes = true;
        for (std::uint32_t rank = 0; rank < schedule.ranks; ++rank) {
            step.sources.push_back(input_of(rank));
        }
    } else {
        step.sources.push_back(input_of(schedule.collective == Collective::all_gather
                                            ? schedule.unit_owners[unit]
                                            : schedule.root));
    }
    const std::vector<bool> wanted = wanted_by(schedule, unit);
    for (std::uint32_t rank = 0; rank < schedule.ranks; ++rank) {
        if (wanted[rank]) step.destinations.push_back(output_of(rank));
    }
    return step;
}

/// Ranks that a unit goes through on its way from or to the root, each for one unit: destinations
/// of a broadcast, everybody in a reduction. None: nobody but the root takes part.
std::vector<std::uint32_t> relays_of(const BuildInput& input, const Schedule& schedule) {
    std::vector<std::uint32_t> relays;
    const std::vector<bool> wanted = wanted_by(schedule, 0);
    for (std::uint32_t rank = 0; rank < input.ranks(); ++rank) {
        const bool takes_part = input.collective == Collective::reduce || wanted[rank];
        if (rank != input.root && takes_part) relays.push_back(rank);
    }
    return relays;
}

/// Who does the work of each unit.
std::vector<std::uint32_t> owners_of(const BuildInput& input, Schedule& schedule) {
    std::vector<std::uint32_t> owners(input.ranks());
    std::iota(owners.begin(), owners.end(), 0u);
    if (is_rooted(input.collective)) {
        cut_evenly(schedule, 1);
        owners = relays_of(input, schedule);
        schedule.unit_shares.clear();
    }
    if (owners.empty() || input.variant == single) owners = {input.root};
    cut_evenly(schedule, static_cast<std::uint32_t>(owners.size()));
    return owners;
}

/// Owners read and write everybody's memory, then tell whose they touched.
Schedule build_pull(const BuildInput& input) {
    Schedule start = start_schedule(input);
    const std::vector<std::uint32_t> owners = owners_of(input, start);
    ScheduleBuilder builder(std::move(start), input.depth);
    std::vector<bool> touched(input.ranks(), true);
    if (input.collective == Collective::broadcast) {
        touched = wanted_by(builder.schedule(), 0);
        touched[input.root] = true;
    }
    for (std::uint32_t unit = 0; unit < owners.size(); ++unit) {
        const std::uint32_t lane = builder.lane(owners[unit], 0);
        Step step = owner_step(builder.schedule(), unit);
        for (std::uint32_t peer = 0; peer < input.ranks(); ++peer) {
            if (peer != owners[unit] && touched[peer]) {
                step.signals.push_back(builder.event(lane, builder.lane(peer, 0)));
            }
        }
        builder.add(lane, std::move(step));
    }
    for (std::uint32_t rank = 0; rank < input.ranks(); ++rank) {
        Step wait{.unit = 0};
        for (const std::uint32_t owner : owners) {
            if (owner == rank || !touched[rank]) continue;
            wait.waits.push_back(builder.event(builder.lane(owner, 0), builder.lane(rank, 0)));
        }
        if (!wait.waits.empty()) builder.add(builder.lane(rank, 0), std::move(wait));
    }
    return builder.take();
}

/// The root, then the relay, then everybody else.
Tree make_relayed(std::uint32_t ranks, std::uint32_t root, std::uint32_t relay) {
    Tree tree{.root = root, .folds = {}};
    tree.folds.resize(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        if (rank != root) tree.folds[relay].push_back(rank);
        if (rank != relay) tree.folds[rank] = {rank};
    }
    tree.folds[root] = {std::min(root, relay), std::max(root, relay)};
    return tree;
}

Schedule build_push(const BuildInput& input) {
    std::vector<Tree> trees;
    if (!is_rooted(input.collective)) {
        for (std::uint32_t unit = 0; unit < input.ranks(); ++unit) {
            trees.push_back(make_star(input.ranks(), unit));
        }
        return build_side_by_side(input, trees);
    }
    for (const std::uint32_t relay : relays_of(input, start_schedule(input))) {
        trees.push_back(make_relayed(input.ranks(), input.root, relay));
    }
    if (trees.empty()) trees.push_back(make_star(input.ranks(), input.root));
    return build_side_by_side(input, trees);
}

Schedule build_direct(const BuildInput& input) {
    if (is_exchange(input.collective)) {
        if (input.strategy.parameter() == 1) refuse_collective(input);
        return build_exchange(input, false);
    }
    require_tree_collective(input);
    if (input.strategy.parameter() != 1) {
        return input.variant == push ? build_push(input) : build_pull(input);
    }
    if (!has_one_shot(input.collective)) refuse_collective(input);
    return build_one_shot(input);
}

/// Beyond, N times the traffic costs more than a hop.
constexpr std::uint64_t most_for_one = 256 << 10;

std::vector<std::uint32_t> direct_forms(const BuildInput& input, std::uint64_t bytes) {
    if (has_one_shot(input.collective) && bytes <= most_for_one) return {1, 2};
    return {2};
}

std::vector<std::uint32_t> direct_variants(const BuildInput& input, std::uint64_t bytes) {
    if (input.strategy.parameter() == 1 || is_exchange(input.collective)) return {pull};
    if (!input.machine.all_reach_all()) return {push};
    std::vector<std::uint32_t> variants{pull, push};
    if (bytes <= most_for_one && !has_owners(input.collective)) variants.push_back(single);
    return variants;
}

}  // namespace

extern constinit const StrategyEntry direct_strategy{
    .name = "direct",
    .parameter = "shots",
    .most = 2,
    .any_form = 0,
    .samples =
        [] {
            return std::vector<std::uint32_t>{1, 2};
        },
    .forms = direct_forms,
    .variants = direct_variants,
    .build = build_direct};

}  // namespace rondo
