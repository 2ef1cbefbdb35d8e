// Names, structural checks and the printed form of schedules.
#include "rondo/schedule.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/program.hpp"
#include "rondo/types.hpp"

namespace rondo {
namespace {

constexpr std::array<std::string_view, 5> collective_names{"all_reduce", "reduce", "broadcast",
                                                           "reduce_scatter", "all_gather"};

template <class... Arguments>
void require(bool condition, fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    if (!condition) {
        throw InvalidArgument("schedule: " +
                              fmt::format(text, std::forward<Arguments>(arguments)...));
    }
}

void validate_shape(const Schedule& schedule) {
    require(schedule.ranks >= 1 && schedule.ranks <= 4096, "ranks is {}; it must be 1 to 4096",
            schedule.ranks);
    require(schedule.root < schedule.ranks, "root is {}, but there are {} ranks", schedule.root,
            schedule.ranks);
    require(!schedule.destinations.empty(), "destinations is empty");
    require(std::is_sorted(schedule.destinations.begin(), schedule.destinations.end()) &&
                std::adjacent_find(schedule.destinations.begin(), schedule.destinations.end()) ==
                    schedule.destinations.end(),
            "destinations must rise: {}", schedule.destinations);
    require(schedule.destinations.back() < schedule.ranks,
            "destination {} does not exist, there are {} ranks", schedule.destinations.back(),
            schedule.ranks);
    const bool selects =
        schedule.collective == Collective::reduce || schedule.collective == Collective::broadcast;
    require(selects || schedule.destinations.size() == schedule.ranks,
            "{} has {} destinations of {} ranks; it must have all", to_string(schedule.collective),
            schedule.destinations.size(), schedule.ranks);
    require(!schedule.unit_shares.empty(), "unit_shares is empty");
    std::uint64_t total = 0;
    for (const std::uint64_t share : schedule.unit_shares) {
        require(share <= (std::uint64_t{1} << 62) - total, "unit_shares are too large: {}", share);
        total += share;
    }
    const bool owned = schedule.collective == Collective::reduce_scatter ||
                       schedule.collective == Collective::all_gather;
    require(schedule.unit_owners.size() == (owned ? schedule.unit_shares.size() : 0),
            "unit_owners has {} elements for {} units of {}", schedule.unit_owners.size(),
            schedule.unit_shares.size(), to_string(schedule.collective));
    require(std::is_sorted(schedule.unit_owners.begin(), schedule.unit_owners.end()),
            "unit_owners must rise: {}", schedule.unit_owners);
    require(!owned || schedule.unit_owners.back() < schedule.ranks,
            "unit owner {} does not exist, there are {} ranks",
            owned ? schedule.unit_owners.back() : 0, schedule.ranks);
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

std::string print_operand(const Operand& operand) {
    static constexpr std::array<std::string_view, 3> names{"input", "output", "channel"};
    return fmt::format("{} {}", names[static_cast<std::size_t>(operand.kind)], operand.index);
}

std::string print_operands(const std::vector<Operand>& operands) {
    std::vector<std::string> texts;
    std::transform(operands.begin(), operands.end(), std::back_inserter(texts), print_operand);
    return fmt::format("{}", fmt::join(texts, operands.size() > 1 ? " + " : ""));
}

std::string print_step(const Step& step) {
    std::string text;
    if (!step.waits.empty()) {
        text += fmt::format("wait {}; ", fmt::join(step.waits, ", "));
    }
    if (!step.destinations.empty()) {
        std::vector<std::string> targets;
        std::transform(step.destinations.begin(), step.destinations.end(),
                       std::back_inserter(targets), print_operand);
        text += fmt::format("unit {}: {} -> {}{}; ", step.unit, print_operands(step.sources),
                            fmt::join(targets, ", "), step.finishes ? " (finished)" : "");
    }
    if (!step.signals.empty()) {
        text += fmt::format("signal {}; ", fmt::join(step.signals, ", "));
    }
    return text.empty() ? "nothing" : text.substr(0, text.size() - 2);
}

}  // namespace

std::string_view to_string(Collective collective) {
    return detail::look_up(collective, collective_names, "collective");
}

Collective parse_collective(std::string_view text) {
    return detail::parse_name<Collective>(text, collective_names, "collective");
}

bool reduces(Collective collective) {
    return collective != Collective::broadcast && collective != Collective::all_gather;
}

void validate(const Schedule& schedule) {
    to_string(schedule.collective);
    validate_shape(schedule);
    std::vector<std::size_t> lanes_of(schedule.ranks);
    for (std::size_t lane = 0; lane < schedule.lanes.size(); ++lane) {
        const std::uint32_t rank = schedule.lanes[lane].rank;
        require(rank < schedule.ranks, "lane {} is of rank {}, but there are {} ranks", lane, rank,
                schedule.ranks);
        require(++lanes_of[rank] <= kernels::max_lanes, "rank {} has more than {} lanes", rank,
                kernels::max_lanes);
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
    for (std::uint32_t lane = 0; lane < schedule.lanes.size(); ++lane) {
        for (std::size_t step = 0; step < schedule.lanes[lane].steps.size(); ++step) {
            StepValidator(schedule, lane, step).run();
        }
    }
}

bool is_cut_into_chunks(const Schedule& schedule) {
    return schedule.chunked || !schedule.channels.empty();
}

std::uint32_t lane_in_rank(const Schedule& schedule, std::uint32_t lane) {
    std::uint32_t number = 0;
    for (std::uint32_t other = 0; other < lane; ++other) {
        number += schedule.lanes[other].rank == schedule.lanes[lane].rank ? 1 : 0;
    }
    return number;
}

std::string describe_step(const Schedule& schedule, std::uint32_t lane, std::size_t step) {
    return fmt::format("rank {}, lane {}, step {}", schedule.lanes[lane].rank,
                       lane_in_rank(schedule, lane), step);
}

std::string to_string(const Schedule& schedule) {
    std::string text = fmt::format(
        "{}: {} of {} ranks, {} units, {} lanes, {} channels, {} events\n", schedule.name,
        to_string(schedule.collective), schedule.ranks, schedule.unit_shares.size(),
        schedule.lanes.size(), schedule.channels.size(), schedule.events.size());
    for (std::uint32_t lane = 0; lane < schedule.lanes.size(); ++lane) {
        const Lane& own = schedule.lanes[lane];
        text += fmt::format("rank {}, lane {}\n", own.rank, lane_in_rank(schedule, lane));
        for (std::size_t i = 0; i < own.steps.size(); ++i) {
            text += fmt::format("  {:3}  {}\n", i, print_step(own.steps[i]));
        }
    }
    return text;
}

}  // namespace rondo
