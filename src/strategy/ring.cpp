// Ring: N slices travel around until each is complete at one rank, then the complete ones travel
// until all have them. A rank writes complete slices straight into the output of the next where it
// reaches it. 2(N - 1) hops, of a slice each; every hop carries 2(N - 1)/N of the message.
#include <algorithm>

#include "strategy/building.hpp"
#include "strategy/tree.hpp"

namespace rondo {
namespace {

/// One turn of the ring: places are positions on it.
class RingTurn {
public:
    RingTurn(ScheduleBuilder& builder, const BuildInput& input, std::vector<std::uint32_t> order)
        : builder_(builder), input_(input), order_(std::move(order)) {}

    /// The slice of place p ends up complete at place p. With `gather` it goes on from there.
    void add_reduce_scatter(std::size_t place, bool gather) {
        const std::size_t size = order_.size();
        for (std::size_t hop = 1; hop <= size; ++hop) {
            Step step{.unit = unit_of(place + size - hop)};
            if (hop > 1) step.sources.push_back(from_before(place));
            step.sources.push_back(input_of(rank_at(place)));
            if (hop < size) {
                step.destinations.push_back(to_next(place));
            } else {
                step.finishes = true;
                step.destinations.push_back(output_of(rank_at(place)));
                if (gather) pass_on(step, place);
            }
            builder_.add(lane_at(place), std::move(step));
        }
    }

    /// Everybody has its own slice as input.
    void add_first_copy(std::size_t place) {
        Step step{.unit = unit_of(place),
                  .sources = {input_of(rank_at(place))},
                  .destinations = {output_of(rank_at(place))}};
        pass_on(step, place);
        builder_.add(lane_at(place), std::move(step));
    }

    /// Slices that come from the place before are passed on to the next, except the last.
    void add_gather(std::size_t place) {
        const std::size_t size = order_.size();
        for (std::size_t hop = 1; hop < size; ++hop) {
            Step step{.unit = unit_of(place + size - hop)};
            const bool goes_on = hop + 1 < size;
            if (is_written(place + size - 1)) {
                step.waits.push_back(builder_.event(lane_at(place + size - 1), lane_at(place)));
                if (goes_on) step.sources.push_back(output_of(rank_at(place)));
            } else {
                step.sources.push_back(from_before(place));
                step.destinations.push_back(output_of(rank_at(place)));
            }
            if (goes_on) pass_on(step, place);
            builder_.add(lane_at(place), std::move(step));
        }
    }

private:
    std::uint32_t rank_at(std::size_t place) const { return order_[place % order_.size()]; }
    std::uint32_t lane_at(std::size_t place) { return builder_.lane(rank_at(place), 0); }
    Operand to_next(std::size_t place) {
        return builder_.channel(lane_at(place), lane_at(place + 1));
    }
    Operand from_before(std::size_t place) { return to_next(place + order_.size() - 1); }

    std::uint32_t unit_of(std::size_t place) const {
        return has_owners(input_.collective) ? rank_at(place)
                                             : static_cast<std::uint32_t>(place % order_.size());
    }

    /// The place writes into the output of the next.
    bool is_written(std::size_t place) const {
        return input_.machine.reaches(rank_at(place), rank_at(place + 1));
    }

    void pass_on(Step& step, std::size_t place) {
        if (order_.size() == 1) return;
        if (is_written(place)) {
            step.destinations.push_back(output_of(rank_at(place + 1)));
            step.signals.push_back(builder_.event(lane_at(place), lane_at(place + 1)));
        } else {
            step.destinations.push_back(to_next(place));
        }
    }

    ScheduleBuilder& builder_;
    const BuildInput& input_;
    const std::vector<std::uint32_t> order_;
};

/// reduce and broadcast: the ring is open and everything flows one way.
Schedule build_chain(const BuildInput& input) {
    Schedule start = start_schedule(input);
    cut_evenly(start, 1);
    ScheduleBuilder builder(std::move(start), input.depth);
    const Tree chain = make_heap_tree(input.machine.ring_order_from(input.root), 1);
    const std::vector<bool> wanted = wanted_by(builder.schedule(), 0);
    const TreeLanes lanes{.machine = &input.machine};
    if (input.collective == Collective::reduce) {
        add_reduction(builder, chain, 0, lanes, wanted);
    } else {
        add_broadcast(builder, chain, 0, lanes, wanted);
    }
    return builder.take();
}

Schedule build_ring(const BuildInput& input) {
    require_tree_collective(input);
    if (input.collective == Collective::reduce || input.collective == Collective::broadcast) {
        return build_chain(input);
    }
    Schedule start = start_schedule(input);
    cut_evenly(start, input.ranks());
    ScheduleBuilder builder(std::move(start), std::max(input.depth, 2u));
    RingTurn ring(builder, input, input.machine.ring_order_from(0));
    for (std::uint32_t place = 0; place < input.ranks(); ++place) {
        if (reduces(input.collective)) {
            ring.add_reduce_scatter(place, input.collective == Collective::all_reduce);
        } else {
            ring.add_first_copy(place);
        }
        if (input.collective != Collective::reduce_scatter) ring.add_gather(place);
    }
    return builder.take();
}

}  // namespace

extern constinit const StrategyEntry ring_strategy{.name = "ring", .build = build_ring};

}  // namespace rondo
