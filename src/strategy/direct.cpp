// Direct: everybody reads and writes everybody's memory. Two shots: the owner of a unit folds it
// from all inputs and writes it to all outputs, without scratch; one rank may own everything. One
// shot: everybody sends its input to everybody and folds all of it, one step less for small
// messages.
#include <algorithm>

#include "schedule/builder.hpp"
#include "strategy/problem.hpp"

namespace rondo {
namespace {

/// Every rank that folds tells whose buffers it touched that it is done, once per chunk: lanes
/// report to the rank's first.
void add_exit(ScheduleBuilder& builder, const std::vector<bool>& folds, std::uint32_t lanes,
              const std::vector<bool>& touched) {
    const auto ranks = static_cast<std::uint32_t>(folds.size());
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const std::uint32_t first = builder.lane(rank, 0);
        Step done{.unit = 0};
        for (std::uint32_t lane = 1; lane < lanes && folds[rank]; ++lane) {
            const std::uint32_t event = builder.event(builder.lane(rank, lane), first);
            builder.add(builder.lane(rank, lane), {.unit = 0, .signals = {event}});
            done.waits.push_back(event);
        }
        for (std::uint32_t peer = 0; peer < ranks && folds[rank]; ++peer) {
            if (peer != rank && touched[peer]) {
                done.signals.push_back(builder.event(first, builder.lane(peer, 0)));
            }
        }
        if (folds[rank]) {
            builder.add(first, std::move(done));
        }
        Step wait{.unit = 0};
        for (std::uint32_t peer = 0; peer < ranks && touched[rank]; ++peer) {
            if (peer != rank && folds[peer]) {
                wait.waits.push_back(builder.event(builder.lane(peer, 0), first));
            }
        }
        if (!wait.waits.empty()) {
            builder.add(first, std::move(wait));
        }
    }
}

Step direct_step(const Schedule& schedule, std::uint32_t unit) {
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
        if (wanted[rank]) {
            step.destinations.push_back(output_of(rank));
        }
    }
    return step;
}

/// all_reduce and reduce_scatter.
Schedule build_one_shot(const Strategy& strategy, const Problem& problem) {
    Schedule start = start_schedule(strategy, problem);
    cut_evenly(start, 1);
    ScheduleBuilder builder(std::move(start), problem.depth);
    const bool scatter = problem.collective == Collective::reduce_scatter;
    for (std::uint32_t rank = 0; rank < problem.ranks; ++rank) {
        const std::uint32_t lane = builder.lane(rank, 0);
        Step send{.unit = 0, .sources = {input_of(rank)}};
        for (std::uint32_t hop = 1; hop < problem.ranks; ++hop) {
            const std::uint32_t peer = (rank + hop) % problem.ranks;
            const Operand channel = builder.channel(lane, builder.lane(peer, 0));
            if (scatter) {
                builder.add(lane,
                            {.unit = peer, .sources = {input_of(rank)}, .destinations = {channel}});
            } else {
                send.destinations.push_back(channel);
            }
        }
        if (!send.destinations.empty()) {
            builder.add(lane, std::move(send));
        }
        Step fold{.unit = scatter ? rank : 0, .destinations = {output_of(rank)}, .finishes = true};
        for (std::uint32_t peer = 0; peer < problem.ranks; ++peer) {
            fold.sources.push_back(peer == rank ? input_of(rank)
                                                : builder.channel(builder.lane(peer, 0), lane));
        }
        builder.add(lane, std::move(fold));
    }
    return builder.take();
}

}  // namespace

Schedule build_stars(const Strategy& strategy, const Problem& problem,
                     const std::vector<std::uint64_t>& shares) {
    Schedule start = start_schedule(strategy, problem);
    const bool owned = has_owners(problem.collective);
    const std::uint32_t lanes = owned ? 1 : problem.lanes;
    std::vector<std::uint32_t> folder;  // of each unit
    std::vector<bool> folds(problem.ranks);
    for (std::uint32_t rank = 0; rank < problem.ranks; ++rank) {
        folds[rank] = owned || shares[rank] != 0;
        if (!folds[rank]) continue;
        folder.insert(folder.end(), lanes, rank);
        if (!owned) start.unit_shares.insert(start.unit_shares.end(), lanes, shares[rank]);
    }
    ScheduleBuilder builder(std::move(start), problem.depth);
    for (std::uint32_t unit = 0; unit < folder.size(); ++unit) {
        builder.add(builder.lane(folder[unit], unit % lanes),
                    direct_step(builder.schedule(), unit));
    }
    std::vector<bool> touched(problem.ranks, problem.collective != Collective::broadcast);
    if (problem.collective == Collective::broadcast) {
        touched = wanted_by(builder.schedule(), 0);
        touched[problem.root] = true;
    }
    if (problem.ranks > 1) {
        add_exit(builder, folds, lanes, touched);
    }
    return builder.take();
}

Schedule build_direct(const Strategy& strategy, const Problem& problem) {
    if (strategy.shots() == 0) {
        throw InvalidArgument("direct must say its shots before a schedule can be built");
    }
    const bool one_shot = problem.collective == Collective::all_reduce ||
                          problem.collective == Collective::reduce_scatter;
    if (strategy.shots() == 1 && !one_shot) {
        throw Unsupported(std::string("direct(1) does not apply to ") +
                          std::string(to_string(problem.collective)) + "; direct(2) does");
    }
    if (strategy.shots() == 1) {
        return build_one_shot(strategy, problem);
    }
    std::vector<std::uint64_t> shares(problem.ranks, problem.one_folds ? 0 : 1);
    shares[problem.root] = 1;
    return build_stars(strategy, problem, shares);
}

}  // namespace rondo
