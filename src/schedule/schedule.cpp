// What collectives are, and the printed form of schedules.
#include "rondo/schedule.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rondo/types.hpp"

namespace rondo {
namespace {

constexpr std::array<std::string_view, 8> collective_names{
    "all_reduce", "reduce",     "broadcast", "reduce_scatter",
    "all_gather", "all_to_all", "gather",    "scatter"};

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

/// Whose units there are, where they are anybody's.
std::string print_units(const Schedule& schedule) {
    std::string text;
    for (std::uint32_t unit = 0; unit < schedule.unit_owners.size(); ++unit) {
        text += fmt::format("unit {}: {} {}", unit,
                            has_input(schedule, schedule.unit_owners[unit], unit) &&
                                    !reduces(schedule.collective) &&
                                    schedule.collective != Collective::scatter
                                ? "from rank"
                                : "to rank",
                            schedule.unit_owners[unit]);
        if (!schedule.unit_receivers.empty()) {
            text += fmt::format(" to rank {}", schedule.unit_receivers[unit]);
        }
        text += "\n";
    }
    return text;
}

}  // namespace

std::string_view to_string(Collective collective) {
    return detail::look_up(collective, collective_names, "collective");
}

Collective parse_collective(std::string_view text) {
    return detail::parse_name<Collective>(text, collective_names, "collective");
}

bool reduces(Collective collective) {
    return collective == Collective::all_reduce || collective == Collective::reduce ||
           collective == Collective::reduce_scatter;
}

bool has_root(Collective collective) {
    return collective == Collective::reduce || collective == Collective::broadcast ||
           collective == Collective::gather || collective == Collective::scatter;
}

bool has_owners(Collective collective) {
    return collective != Collective::all_reduce && collective != Collective::reduce &&
           collective != Collective::broadcast;
}

bool has_input(const Schedule& schedule, std::uint32_t rank, std::uint32_t unit) {
    switch (schedule.collective) {
        case Collective::broadcast:
        case Collective::scatter:
            return rank == schedule.root;
        case Collective::all_gather:
        case Collective::gather:
        case Collective::all_to_all:
            return rank == schedule.unit_owners[unit];
        default:
            return true;
    }
}

bool has_output(const Schedule& schedule, std::uint32_t rank, std::uint32_t unit) {
    switch (schedule.collective) {
        case Collective::reduce_scatter:
        case Collective::scatter:
            return rank == schedule.unit_owners[unit];
        case Collective::all_to_all:
            return rank == schedule.unit_receivers[unit];
        default:
            return std::ranges::binary_search(schedule.destinations, rank);
    }
}

std::uint32_t part_count(const Schedule& schedule) {
    if (!has_owners(schedule.collective)) return 1;
    const bool pairs = schedule.collective == Collective::all_to_all;
    return pairs ? schedule.ranks * schedule.ranks : schedule.ranks;
}

std::uint32_t part_of(const Schedule& schedule, std::uint32_t unit) {
    if (!has_owners(schedule.collective)) return 0;
    const std::uint32_t owner = schedule.unit_owners[unit];
    if (schedule.collective != Collective::all_to_all) return owner;
    return owner * schedule.ranks + schedule.unit_receivers[unit];
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
    text += print_units(schedule);
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
