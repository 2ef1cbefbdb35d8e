// Ring: N slices travel around until each is complete at one rank, then the complete ones travel
// until all have them. A rank writes complete slices straight into the output of the next.
#include <algorithm>

#include "strategy/problem.hpp"
#include "strategy/tree.hpp"

namespace rondo {
namespace {

/// One turn of the ring in one lane: places are positions on the ring, units are numbered from
/// `first_unit`.
class RingLane {
public:
    RingLane(ScheduleBuilder& builder, std::vector<std::uint32_t> order, std::uint32_t lane,
             std::vector<std::uint32_t> unit_of_place)
        : builder_(builder),
          order_(std::move(order)),
          lane_(lane),
          unit_of_place_(std::move(unit_of_place)) {}

    /// The slice of place p ends up complete at place p. With `gather` it goes on from there.
    void add_reduce_scatter(std::size_t place, bool gather) {
        const std::size_t size = order_.size();
        for (std::size_t hop = 1; hop <= size; ++hop) {
            const std::size_t slice = (place + size - hop) % size;
            Step step{.unit = unit_of_place_[slice]};
            if (hop > 1) {
                step.sources.push_back(builder_.channel(lane_at(place + size - 1), lane_at(place)));
            }
            step.sources.push_back(input_of(order_[place]));
            if (hop < size) {
                step.destinations.push_back(builder_.channel(lane_at(place), lane_at(place + 1)));
            } else {
                step.finishes = true;
                step.destinations.push_back(output_of(order_[place]));
                if (gather) {
                    pass_on(step, place);
                }
            }
            builder_.add(lane_at(place), std::move(step));
        }
    }

    /// Everybody has its own slice as input.
    void add_first_copy(std::size_t place) {
        Step step{.unit = unit_of_place_[place],
                  .sources = {input_of(order_[place])},
                  .destinations = {output_of(order_[place])}};
        pass_on(step, place);
        builder_.add(lane_at(place), std::move(step));
    }

    /// Slices that come from the place before are passed on to the next, except the last.
    void add_gather(std::size_t place) {
        const std::size_t size = order_.size();
        for (std::size_t hop = 1; hop < size; ++hop) {
            Step step{.unit = unit_of_place_[(place + size - hop) % size]};
            step.waits.push_back(builder_.event(lane_at(place + size - 1), lane_at(place)));
            if (hop + 1 < size) {
                step.sources.push_back(output_of(order_[place]));
                pass_on(step, place);
            }
            builder_.add(lane_at(place), std::move(step));
        }
    }

private:
    std::uint32_t lane_at(std::size_t place) {
        return builder_.lane(order_[place % order_.size()], lane_);
    }

    void pass_on(Step& step, std::size_t place) {
        if (order_.size() > 1) {
            step.destinations.push_back(output_of(order_[(place + 1) % order_.size()]));
            step.signals.push_back(builder_.event(lane_at(place), lane_at(place + 1)));
        }
    }

    ScheduleBuilder& builder_;
    const std::vector<std::uint32_t> order_;
    const std::uint32_t lane_;
    const std::vector<std::uint32_t> unit_of_place_;
};

/// reduce and broadcast: the ring is open and everything flows one way.
Schedule build_chain(const Strategy& strategy, const Problem& problem) {
    Schedule start = start_schedule(strategy, problem);
    const std::uint32_t pairs = std::max(1u, problem.lanes / 2);
    cut_evenly(start, pairs);
    ScheduleBuilder builder(std::move(start), problem.depth);
    const Tree chain = make_heap_tree(order_from(problem, problem.root), 1);
    for (std::uint32_t unit = 0; unit < pairs; ++unit) {
        const TreeLanes lanes =
            problem.lanes == 1 ? TreeLanes{0, 0} : TreeLanes{2 * unit, 2 * unit + 1};
        const std::vector<bool> wanted = wanted_by(builder.schedule(), unit);
        if (problem.collective == Collective::reduce) {
            add_reduction(builder, chain, unit, lanes, wanted);
        } else {
            add_broadcast(builder, chain, unit, lanes, wanted);
        }
    }
    return builder.take();
}

}  // namespace

Schedule build_ring(const Strategy& strategy, const Problem& problem) {
    if (problem.collective == Collective::reduce || problem.collective == Collective::broadcast) {
        return build_chain(strategy, problem);
    }
    Schedule start = start_schedule(strategy, problem);
    const bool owned = has_owners(problem.collective);
    const std::uint32_t lanes = owned ? 1 : problem.lanes;
    cut_evenly(start, problem.ranks * lanes);
    ScheduleBuilder builder(std::move(start), std::max(problem.depth, 2u));
    const std::vector<std::uint32_t> order = order_from(problem, 0);
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
        std::vector<std::uint32_t> unit_of_place(problem.ranks);
        for (std::uint32_t place = 0; place < problem.ranks; ++place) {
            unit_of_place[place] = lane * problem.ranks + (owned ? order[place] : place);
        }
        RingLane ring(builder, order, lane, unit_of_place);
        for (std::uint32_t place = 0; place < problem.ranks; ++place) {
            if (reduces(problem.collective)) {
                ring.add_reduce_scatter(place, problem.collective == Collective::all_reduce);
            } else {
                ring.add_first_copy(place);
            }
            if (problem.collective != Collective::reduce_scatter) {
                ring.add_gather(place);
            }
        }
    }
    return builder.take();
}

}  // namespace rondo
