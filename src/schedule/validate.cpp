// Structural checks: what must hold before anybody looks at what a schedule does.
#include <algorithm>
#include <bit>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/program.hpp"
#include "rondo/schedule.hpp"

namespace rondo {
namespace {

template <class... Arguments>
void require(bool condition, fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    if (!condition) {
        throw InvalidArgument("schedule: " +
                              fmt::format(text, std::forward<Arguments>(arguments)...));
    }
}

void validate_destinations(const Schedule& schedule) {
    const auto& destinations = schedule.destinations;
    require(!destinations.empty(), "destinations is empty");
    require(std::ranges::is_sorted(destinations) &&
                std::ranges::adjacent_find(destinations) == destinations.end(),
            "destinations must rise: {}", destinations);
    require(destinations.back() < schedule.ranks,
            "destination {} does not exist, there are {} ranks", destinations.back(),
            schedule.ranks);
    const std::string_view collective = to_string(schedule.collective);
    const bool root_is_one = std::ranges::binary_search(destinations, schedule.root);
    switch (schedule.collective) {
        case Collective::broadcast:
            break;
        case Collective::reduce:
            require(root_is_one, "the root of reduce, rank {}, is no destination: {}",
                    schedule.root, destinations);
            break;
        case Collective::gather:
            require(root_is_one && destinations.size() == 1,
                    "gather has the destinations {}; it must have the root only, rank {}",
                    destinations, schedule.root);
            break;
        default:
            require(destinations.size() == schedule.ranks,
                    "{} has {} destinations of {} ranks; it must have all", collective,
                    destinations.size(), schedule.ranks);
    }
}

/// Rank or pair, for people.
std::string name_part(const Schedule& schedule, std::uint32_t part) {
    if (schedule.collective != Collective::all_to_all) return fmt::format("rank {}", part);
    return fmt::format("rank {} to rank {}", part / schedule.ranks, part % schedule.ranks);
}

/// Owners and receivers exist, and parts come in their order, each with something to share.
void validate_parts(const Schedule& schedule) {
    const std::size_t units = schedule.unit_shares.size();
    const bool owned = has_owners(schedule.collective);
    const bool paired = schedule.collective == Collective::all_to_all;
    for (const auto& [ranks, wanted, name] :
         {std::tuple(&schedule.unit_owners, owned, "unit_owners"),
          std::tuple(&schedule.unit_receivers, paired, "unit_receivers")}) {
        require(ranks->size() == (wanted ? units : 0), "{} has {} elements for {} units of {}",
                name, ranks->size(), units, to_string(schedule.collective));
        for (const std::uint32_t rank : *ranks) {
            require(rank < schedule.ranks, "{}: rank {} does not exist, there are {} ranks", name,
                    rank, schedule.ranks);
        }
    }
    std::uint32_t part = 0;
    for (std::uint32_t unit = 0; unit < units; ++part) {
        const std::uint32_t own = part_of(schedule, unit);
        require(own >= part, "unit {}, of {}, comes too late: units are sorted by {}", unit,
                name_part(schedule, own), paired ? "owner, then receiver" : "owner");
        require(own == part, "{} has no unit", name_part(schedule, part));
        std::uint64_t shares = 0;
        for (; unit < units && part_of(schedule, unit) == part; ++unit) {
            shares += schedule.unit_shares[unit];
        }
        require(shares > 0, "unit_shares{} add up to 0",
                owned ? " of " + name_part(schedule, part) : "");
    }
    require(part == part_count(schedule), "{} has no unit", name_part(schedule, part));
}

void validate_shape(const Schedule& schedule) {
    require(schedule.ranks >= 1 && schedule.ranks <= 4096, "ranks is {}; it must be 1 to 4096",
            schedule.ranks);
    require(schedule.root < schedule.ranks, "root is {}, but there are {} ranks", schedule.root,
            schedule.ranks);
    require(schedule.root == 0 || has_root(schedule.collective), "root is {}, but {} has none",
            schedule.root, to_string(schedule.collective));
    validate_destinations(schedule);
    require(!schedule.unit_shares.empty(), "unit_shares is empty");
    std::uint64_t total = 0;
    for (const std::uint64_t share : schedule.unit_shares) {
        require(share <= (std::uint64_t{1} << 62) - total, "unit_shares are too large: {}", share);
        total += share;
    }
    validate_parts(schedule);
}

/// Channels and events lead from one lane to another.
template <class Link>
void validate_links(const Schedule& schedule, const std::vector<Link>& links, const char* what) {
    for (std::size_t i = 0; i < links.size(); ++i) {
        const std::size_t lanes = schedule.lanes.size();
        require(links[i].from_lane < lanes && links[i].to_lane < lanes,
                "{} {} leads from lane {} to lane {}, but there are {} lanes", what, i,
                links[i].from_lane, links[i].to_lane, lanes);
        require(links[i].from_lane != links[i].to_lane, "{} {} leads from lane {} to itself", what,
                i, links[i].from_lane);
    }
}

/// Links that nobody uses would only cost memory. Whether both ends use them is verify()'s affair.
void validate_use(const Schedule& schedule) {
    std::vector<bool> channels(schedule.channels.size());
    std::vector<bool> events(schedule.events.size());
    const auto mark = [](std::vector<bool>& used, std::size_t index) {
        if (index < used.size()) used[index] = true;
    };
    for (const Lane& lane : schedule.lanes) {
        for (const Step& step : lane.steps) {
            for (const auto* operands : {&step.sources, &step.destinations}) {
                for (const Operand& operand : *operands) {
                    if (operand.kind == Operand::Kind::channel) mark(channels, operand.index);
                }
            }
            for (const auto* list : {&step.waits, &step.signals}) {
                for (const std::uint32_t event : *list) mark(events, event);
            }
        }
    }
    for (const auto& [used, what] :
         {std::pair(&channels, "channel"), std::pair(&events, "event")}) {
        const auto unused = std::ranges::find(*used, false);
        require(unused == used->end(), "{} {} is never used", what, unused - used->begin());
    }
}

/// That a step waits for, or signals: more than it has peers with so many lanes.
constexpr std::size_t most_step_events = 8192;

class StepValidator {
public:
    StepValidator(const Schedule& schedule, std::uint32_t lane, std::size_t step)
        : schedule_(schedule), lane_(lane), step_(step) {}

    void run() const {
        const Step& step = schedule_.lanes[lane_].steps[step_];
        check(step.unit < schedule_.unit_shares.size(), "unit {} does not exist", step.unit);
        check(step.sources.empty() == step.destinations.empty(),
              "it has {} sources and {} destinations; both or none", step.sources.size(),
              step.destinations.size());
        for (const auto* operands : {&step.sources, &step.destinations}) {
            check(operands->size() <= kernels::max_step_spans,
                  "{} sources or destinations are more than {}", operands->size(),
                  kernels::max_step_spans);
            for (const Operand& operand : *operands) {
                validate_operand(operand, operands == &step.sources);
            }
        }
        for (const std::uint32_t event : step.waits) {
            validate_event(event, &EventLink::to_lane, "wait for");
        }
        for (const std::uint32_t event : step.signals) {
            validate_event(event, &EventLink::from_lane, "signal");
        }
        for (const auto* events : {&step.waits, &step.signals}) {
            check(events->size() <= most_step_events, "it has {} events; {} are the most",
                  events->size(), most_step_events);
        }
    }

private:
    template <class... Arguments>
    void check(bool condition, fmt::format_string<Arguments...> text,
               Arguments&&... arguments) const {
        if (!condition) {
            require(false, "{}: {}", describe_step(schedule_, lane_, step_),
                    fmt::format(text, std::forward<Arguments>(arguments)...));
        }
    }

    void validate_operand(const Operand& operand, bool is_source) const {
        if (operand.kind != Operand::Kind::channel) {
            check(operand.index < schedule_.ranks, "rank {} does not exist", operand.index);
            check(is_source || operand.kind == Operand::Kind::output,
                  "it writes to the input of rank {}", operand.index);
            return;
        }
        check(operand.index < schedule_.channels.size(), "channel {} does not exist",
              operand.index);
        const Channel& channel = schedule_.channels[operand.index];
        const std::uint32_t end = is_source ? channel.to_lane : channel.from_lane;
        check(end == lane_, "channel {} is {} by lane {} only", operand.index,
              is_source ? "popped" : "pushed", end);
    }

    void validate_event(std::uint32_t event, std::uint32_t EventLink::*end,
                        const char* what) const {
        check(event < schedule_.events.size(), "event {} does not exist", event);
        check(schedule_.events[event].*end == lane_, "only lane {} may {} event {}",
              schedule_.events[event].*end, what, event);
    }

    const Schedule& schedule_;
    std::uint32_t lane_;
    std::size_t step_;
};

}  // namespace

void validate(const Schedule& schedule) {
    to_string(schedule.collective);
    validate_shape(schedule);
    std::vector<std::size_t> lanes_of(schedule.ranks);
    for (std::size_t lane = 0; lane < schedule.lanes.size(); ++lane) {
        const std::uint32_t rank = schedule.lanes[lane].rank;
        require(rank < schedule.ranks, "lane {} is of rank {}, but there are {} ranks", lane, rank,
                schedule.ranks);
        require(++lanes_of[rank] <= kernels::max_blocks, "rank {} has more than {} lanes", rank,
                kernels::max_blocks);
    }
    for (std::uint32_t rank = 0; rank < schedule.ranks; ++rank) {
        require(lanes_of[rank] > 0, "rank {} has no lane; its first one enters the call", rank);
    }
    validate_links(schedule, schedule.channels, "channel");
    validate_links(schedule, schedule.events, "event");
    for (std::size_t i = 0; i < schedule.channels.size(); ++i) {
        const std::uint32_t depth = schedule.channels[i].depth;
        require(std::has_single_bit(depth) && depth <= 1024,
                "channel {} has depth {}; it must be a power of two, at most 1024", i, depth);
    }
    validate_use(schedule);
    for (std::uint32_t lane = 0; lane < schedule.lanes.size(); ++lane) {
        for (std::size_t step = 0; step < schedule.lanes[lane].steps.size(); ++step) {
            StepValidator(schedule, lane, step).run();
        }
    }
}

}  // namespace rondo
