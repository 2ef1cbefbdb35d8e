// Exchange: every unit goes from its source to its receiver.
//
// Steps: one, and one more for each relay that a unit goes over. On the wire: a unit crosses one
// edge, and one more for each relay; a rank of an all_to_all sends N - 1 of its N parts.
//
// Who reaches the receiver's memory writes into its output and tells it; others send by a channel.
// What a relay gets it gets in a channel. Ways are chosen one by one, for several units per pair,
// so that the busiest link has as little to carry as can be found: on a DGX-1 pairs without NVLink
// then use a neighbour that has it to both, and PCI a little.
//
// What goes to different neighbours moves in lanes of its own, and so do the first hops of units,
// their second hops and so on: no lane waits for what only others pass on, and while a chunk is on
// its second hop the next is on its first. All lanes take their units in one order, that of
// distance, so that ranks do not all send to the same one at the same time, and nobody waits in a
// circle.
#include "strategy/exchange.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "kernels/program.hpp"
#include "strategy/building.hpp"

namespace rondo {
namespace {

/// The ranks that a unit goes through, from its source to its receiver.
using UnitWay = std::vector<std::uint32_t>;

std::uint32_t source_of(const Schedule& schedule, std::uint32_t unit) {
    return schedule.collective == Collective::scatter ? schedule.root : schedule.unit_owners[unit];
}

std::uint32_t receiver_of(const Schedule& schedule, std::uint32_t unit) {
    switch (schedule.collective) {
        case Collective::all_to_all:
            return schedule.unit_receivers[unit];
        case Collective::gather:
            return schedule.root;
        default:
            return schedule.unit_owners[unit];
    }
}

/// Finds ways with little load on the busiest link: the sum of high powers of all loads counts.
class WayFinder {
public:
    WayFinder(const Routing& routing, std::vector<UnitWay> ways)
        : routing_(routing),
          ranks_(routing.ranks()),
          ways_(std::move(ways)),
          loads_(routing.topology().links().size()) {}

    std::vector<UnitWay> run() {
        for (const UnitWay& way : ways_) use(way, 1);
        for (int round = 0; round < most_rounds; ++round) {
            bool better = false;
            for (UnitWay& way : ways_) better |= improve(way);
            if (!better) break;
        }
        return std::move(ways_);
    }

private:
    static constexpr int most_rounds = 8;

    bool improve(UnitWay& way) {
        if (way.size() == 1) return false;
        use(way, -1);
        const double scale = std::max(std::ranges::max(loads_), 1e-30);
        UnitWay best = cheapest(way.front(), way.back(), scale);
        // A longer way is more steps, which wait for each other.
        const double worth = best.size() > way.size() ? 0.7 : 1 - 1e-9;
        const bool better = price(best, scale) < price(way, scale) * worth;
        if (better) way = std::move(best);
        use(way, 1);
        return better;
    }

    /// Dijkstra's, with what each hop adds to the sum.
    UnitWay cheapest(std::uint32_t from, std::uint32_t to, double scale) const {
        std::vector<double> prices(ranks_, 1e300);
        std::vector<std::uint32_t> before(ranks_, from);
        std::vector<bool> done(ranks_);
        prices[from] = 0;
        for (std::uint32_t count = 0; count < ranks_; ++count) {
            std::uint32_t at = ranks_;
            for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
                if (!done[rank] && (at == ranks_ || prices[rank] < prices[at])) at = rank;
            }
            if (at == to) break;
            done[at] = true;
            for (std::uint32_t next = 0; next < ranks_; ++next) {
                if (done[next]) continue;
                const double sum = prices[at] + hop_price(at, next, scale);
                if (sum >= prices[next]) continue;
                prices[next] = sum;
                before[next] = at;
            }
        }
        UnitWay way{to};
        while (way.back() != from) way.push_back(before[way.back()]);
        std::ranges::reverse(way);
        return way;
    }

    template <class Visit>
    bool for_each_link(std::uint32_t from, std::uint32_t to, Visit visit) const {
        const Path* const path = routing_.path(from, to);
        if (path == nullptr) return false;
        for (const Route& route : path->routes) {
            for (const int link : route.links) {
                const auto index = static_cast<std::size_t>(link);
                const auto width = static_cast<double>(
                    routing_.topology().links()[index].bandwidth(routing_.model()));
                visit(index, route.share / width);
            }
        }
        return true;
    }

    void use(const UnitWay& way, double sign) {
        for (std::size_t i = 1; i < way.size(); ++i) {
            for_each_link(way[i - 1], way[i],
                          [&](std::size_t link, double time) { loads_[link] += sign * time; });
        }
    }

    double price(const UnitWay& way, double scale) const {
        double sum = 0;
        for (std::size_t i = 1; i < way.size(); ++i) sum += hop_price(way[i - 1], way[i], scale);
        return sum;
    }

    double hop_price(std::uint32_t from, std::uint32_t to, double scale) const {
        double sum = 0;
        const bool joined = for_each_link(from, to, [&](std::size_t link, double time) {
            sum += raised((loads_[link] + time) / scale) - raised(loads_[link] / scale);
        });
        return joined ? sum : 1e200;
    }

    static double raised(double base) {
        const double squared = base * base;
        const double fourth = squared * squared;
        return fourth * fourth * fourth;
    }

    const Routing& routing_;
    const std::uint32_t ranks_;
    std::vector<UnitWay> ways_;
    std::vector<double> loads_;
};

/// Repeats every unit, so that several ways can share a part.
void cut_parts(Schedule& schedule, std::uint32_t times) {
    const auto repeat = [&](auto& values) {
        auto repeated = values;
        repeated.clear();
        for (const auto& value : values) repeated.insert(repeated.end(), times, value);
        values = std::move(repeated);
    };
    repeat(schedule.unit_shares);
    repeat(schedule.unit_owners);
    repeat(schedule.unit_receivers);
}

class ExchangeMaker {
    /// Later hops share the lanes of the last.
    static constexpr std::uint32_t most_stages = 4;

public:
    ExchangeMaker(const BuildInput& input, Schedule start, std::uint32_t lanes)
        : input_(input), lanes_(lanes), builder_(std::move(start), input.depth) {}

    void add(std::uint32_t unit, const UnitWay& way) {
        Operand what = input_of(way.front());
        std::uint32_t lane = sending_lane(way, 0);
        for (std::size_t i = 1; i + 1 < way.size(); ++i) {
            const std::uint32_t passing = sending_lane(way, i);
            const Operand channel = builder_.channel(lane, passing);
            builder_.add(lane, {.unit = unit, .sources = {what}, .destinations = {channel}});
            what = channel;
            lane = passing;
        }
        send(unit, way.size() == 1 ? way.front() : way[way.size() - 2], way.back(), {what}, lane);
    }

    Schedule take() { return builder_.take(); }

private:
    std::uint32_t distance(std::uint32_t from, std::uint32_t to) const {
        return (to + input_.ranks() - from) % input_.ranks();
    }

    /// Of the rank that sends the unit on a hop of its way.
    std::uint32_t sending_lane(const UnitWay& way, std::size_t hop) {
        const std::uint32_t rank = way[hop];
        if (way.size() == 1) return builder_.lane(rank, 0);
        const auto stage = static_cast<std::uint32_t>(std::min<std::size_t>(hop, most_stages - 1));
        auto& neighbours = neighbours_[{rank, stage}];
        const auto number = neighbours.try_emplace(way[hop + 1], neighbours.size()).first->second;
        return builder_.lane(rank,
                             stage * lanes_ + static_cast<std::uint32_t>(number + 1) % lanes_);
    }

    /// What `from` reads goes to the output of `to`.
    void send(std::uint32_t unit, std::uint32_t from, std::uint32_t to, std::vector<Operand> what,
              std::uint32_t lane) {
        Step step{.unit = unit, .sources = std::move(what)};
        if (from == to || input_.machine.reaches(from, to)) {
            step.destinations = {output_of(to)};
            if (from != to) {
                const std::uint32_t waiting = builder_.lane(to, (most_stages + 1) * lanes_);
                step.signals = {builder_.event(lane, waiting)};
                builder_.add(waiting, {.unit = unit, .waits = step.signals});
            }
            builder_.add(lane, std::move(step));
            return;
        }
        const std::uint32_t receiving =
            builder_.lane(to, most_stages * lanes_ + distance(from, to) % lanes_);
        const Operand channel = builder_.channel(lane, receiving);
        step.destinations = {channel};
        builder_.add(lane, std::move(step));
        builder_.add(receiving,
                     {.unit = unit, .sources = {channel}, .destinations = {output_of(to)}});
    }

    const BuildInput& input_;
    const std::uint32_t lanes_;
    ScheduleBuilder builder_;
    /// By rank and stage: to whom it sends, in the order of lanes.
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::map<std::uint32_t, std::size_t>>
        neighbours_;
};

/// Units per pair, when ways are chosen: few, since each is a step.
std::uint32_t units_per_part(const BuildInput& input, bool relays) {
    if (!relays || input.machine.routing() == nullptr) return 1;
    return input.ranks() <= 8 ? 4 : input.ranks() <= 16 ? 2 : 1;
}

}  // namespace

bool is_exchange(Collective collective) {
    return collective == Collective::all_to_all || collective == Collective::gather ||
           collective == Collective::scatter;
}

Schedule build_exchange(const BuildInput& input, bool relays) {
    Schedule start = start_schedule(input);
    cut_parts(start, units_per_part(input, relays));
    const auto units = static_cast<std::uint32_t>(start.unit_shares.size());
    std::vector<UnitWay> ways;
    for (std::uint32_t unit = 0; unit < units; ++unit) {
        const std::uint32_t from = source_of(start, unit);
        const std::uint32_t to = receiver_of(start, unit);
        ways.push_back(from == to ? UnitWay{from} : UnitWay{from, to});
    }
    if (relays && input.machine.routing() != nullptr) {
        ways = WayFinder(*input.machine.routing(), std::move(ways)).run();
    }
    // Near ones first.
    std::vector<std::uint32_t> order(units);
    for (std::uint32_t unit = 0; unit < units; ++unit) order[unit] = unit;
    std::ranges::stable_sort(order, {}, [&](std::uint32_t unit) {
        const UnitWay& way = ways[unit];
        return (way.back() + input.ranks() - way.front()) % input.ranks();
    });
    const std::uint32_t lanes = std::clamp(input.ranks() - 1, 1u, 8u);
    ExchangeMaker maker(input, std::move(start), lanes);
    for (const std::uint32_t unit : order) maker.add(unit, ways[unit]);
    return maker.take();
}

}  // namespace rondo
