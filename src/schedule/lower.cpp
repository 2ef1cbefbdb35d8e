// Derives flags, positions, waits and credits from channels and events.
#include "schedule/lower.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/fractions.hpp"
#include "schedule/shortcuts.hpp"

namespace rondo {
namespace {

std::size_t data_flag(std::uint32_t channel) {
    return 2 * std::size_t{channel};
}

std::size_t credit_flag(std::uint32_t channel) {
    return 2 * std::size_t{channel} + 1;
}

std::size_t event_flag(const Schedule& schedule, std::uint32_t event) {
    return 2 * schedule.channels.size() + event;
}

/// The flags of one step, those in front that a brief call needs.
class FlagList {
public:
    void clear() {
        flags_.clear();
        brief_ = 0;
    }
    void add(const kernels::ProgramFlag& flag, bool brief_needs_it) {
        flags_.insert(brief_needs_it ? flags_.begin() + brief_++ : flags_.end(), flag);
    }
    std::uint16_t size() const { return static_cast<std::uint16_t>(flags_.size()); }
    std::uint16_t brief() const { return static_cast<std::uint16_t>(brief_); }
    void append_to(std::vector<kernels::ProgramFlag>& all) const {
        all.insert(all.end(), flags_.begin(), flags_.end());
    }

private:
    std::vector<kernels::ProgramFlag> flags_;
    std::ptrdiff_t brief_ = 0;
};

/// Shares of a unit's part: those before the unit, and the unit's end.
struct Shares {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

bool is_same_part(const Schedule& schedule, std::size_t a, std::size_t b) {
    return (schedule.unit_owners.empty() || schedule.unit_owners[a] == schedule.unit_owners[b]) &&
           (schedule.unit_receivers.empty() ||
            schedule.unit_receivers[a] == schedule.unit_receivers[b]);
}

/// Where a unit lies in its part, for any length of the part.
void set_fractions(kernels::ProgramUnit& unit, const Shares& shares, std::uint64_t all) {
    if (shares.begin == shares.end) {  // nothing, wherever it is
        unit.begin = unit.end = 1;
        return;
    }
    unit.begin = shares.begin == 0 ? 0 : kernels::fraction_of(shares.begin, all);
    unit.end = shares.end == all ? 0 : kernels::fraction_of(shares.end, all);
}

/// Which part it is, as the rank knows it.
void set_part(kernels::ProgramUnit& unit, const Schedule& schedule, std::uint32_t index,
              std::uint32_t rank) {
    if (schedule.unit_owners.empty()) return;
    unit.part = schedule.unit_owners[index];
    if (schedule.unit_receivers.empty()) return;
    if (unit.part == rank) {
        unit.part = schedule.unit_receivers[index];
    } else {
        unit.table = kernels::output_parts;
    }
}

std::vector<kernels::ProgramUnit> lower_units(const Schedule& schedule, std::uint32_t rank) {
    const std::size_t count = schedule.unit_shares.size();
    std::vector<kernels::ProgramUnit> units(count);
    std::vector<Shares> shares(count);
    for (std::size_t first = 0; first < count;) {
        std::size_t last = first;
        std::uint64_t all = 0;
        for (; last < count && is_same_part(schedule, first, last); ++last) {
            shares[last] = {all, all + schedule.unit_shares[last]};
            all = shares[last].end;
        }
        for (; first < last; ++first) {
            set_fractions(units[first], shares[first], all);
            set_part(units[first], schedule, static_cast<std::uint32_t>(first), rank);
        }
    }
    return units;
}

/// Lowers one lane. A link's position counts its uses by this lane within a chunk.
class LaneLowering {
public:
    LaneLowering(const Schedule& schedule, const std::vector<FlagInfo>& infos,
                 const BriefCall& brief, const Placement& placement, LoweredProgram& program)
        : schedule_(schedule),
          infos_(infos),
          brief_(brief),
          placement_(placement),
          program_(program),
          positions_(infos.size()) {}

    void run(std::size_t index) {
        const Lane& lane = schedule_.lanes[index];
        rank_ = lane.rank;
        program_.lanes.push_back({.first_step = static_cast<std::uint32_t>(program_.steps.size()),
                                  .steps = static_cast<std::uint32_t>(lane.steps.size()),
                                  .early_steps = brief_.early_steps[index],
                                  .stride = only_waits(lane) ? kernels::waiting_stride : 1});
        for (const Step& step : lane.steps) {
            run(step);
        }
    }

private:
    void run(const Step& step) {
        kernels::ProgramStep lowered{
            .unit = step.unit,
            .first_span = static_cast<std::uint32_t>(program_.spans.size()),
            .first_flag = static_cast<std::uint32_t>(program_.flags.size()),
            .sources = static_cast<std::uint16_t>(step.sources.size()),
            .destinations = static_cast<std::uint16_t>(step.destinations.size()),
            .finishes = step.finishes ? 1u : 0u};
        waits_.clear();
        signals_.clear();
        for (const std::uint32_t event : step.waits) {
            const std::size_t flag = event_flag(schedule_, event);
            waits_.add(flag_at(flag, ++positions_[flag]), true);
        }
        for (const Operand& operand : step.sources) {
            program_.spans.push_back(operand.kind == Operand::Kind::channel
                                         ? pop(operand.index)
                                         : buffer(operand, step.unit));
        }
        for (const Operand& operand : step.destinations) {
            program_.spans.push_back(operand.kind == Operand::Kind::channel
                                         ? push(operand.index)
                                         : buffer(operand, step.unit));
        }
        for (const std::uint32_t event : step.signals) {
            const std::size_t flag = event_flag(schedule_, event);
            signals_.add(flag_at(flag, ++positions_[flag]), true);
        }
        lowered.waits = waits_.size();
        lowered.brief_waits = waits_.brief();
        lowered.signals = signals_.size();
        lowered.brief_signals = signals_.brief();
        waits_.append_to(program_.flags);
        signals_.append_to(program_.flags);
        program_.steps.push_back(lowered);
    }

    kernels::ProgramFlag flag_at(std::size_t flag, std::uint32_t offset) const {
        return {.flag = placement_.flag(flag),
                .per_chunk = infos_[flag].per_chunk,
                .offset = offset,
                .number = placement_.first_flag_number + static_cast<std::uint32_t>(flag)};
    }

    kernels::ProgramSpan slot(std::uint32_t channel, std::uint32_t position) const {
        return {.space = kernels::ProgramSpan::slot,
                .per_chunk = infos_[data_flag(channel)].per_chunk,
                .position = position,
                .mask = schedule_.channels[channel].depth - 1,
                .slots = placement_.slots(channel)};
    }

    kernels::ProgramSpan pop(std::uint32_t channel) {
        const std::uint32_t position = positions_[data_flag(channel)]++;
        waits_.add(flag_at(data_flag(channel), position + 1), !brief_.early[channel]);
        signals_.add(flag_at(credit_flag(channel), position + 1), !brief_.roomy[channel]);
        return slot(channel, position);
    }

    kernels::ProgramSpan push(std::uint32_t channel) {
        const std::uint32_t position = positions_[data_flag(channel)]++;
        const std::uint32_t depth = schedule_.channels[channel].depth;
        waits_.add(flag_at(credit_flag(channel), position + 1 - depth), !brief_.roomy[channel]);
        signals_.add(flag_at(data_flag(channel), position + 1), !brief_.early[channel]);
        return slot(channel, position);
    }

    kernels::ProgramSpan buffer(const Operand& operand, std::uint32_t unit) const {
        const bool is_input = operand.kind == Operand::Kind::input;
        kernels::ProgramSpan span{
            .space = is_input ? kernels::ProgramSpan::input : kernels::ProgramSpan::output,
            .rank = operand.index};
        switch (schedule_.collective) {
            case Collective::all_gather:
            case Collective::gather:
                if (!is_input) span.part = schedule_.unit_owners[unit];
                break;
            case Collective::reduce_scatter:
            case Collective::scatter:
                if (is_input) span.part = schedule_.unit_owners[unit];
                break;
            case Collective::all_to_all:
                set_pair(span, is_input, unit);
                break;
            default:
                break;
        }
        return span;
    }

    /// Peers are told where the part is that they share with this rank; others of equal length are
    /// at a known distance from it.
    void set_pair(kernels::ProgramSpan& span, bool is_input, std::uint32_t unit) const {
        const std::uint32_t from = schedule_.unit_owners[unit];
        const std::uint32_t to = schedule_.unit_receivers[unit];
        const bool is_own = span.rank == rank_;
        if (!is_own && (from == rank_ || to == rank_)) return;
        span.part = is_input ? to : from;
        span.table = !is_own    ? kernels::from_own_part
                     : is_input ? kernels::input_parts
                                : kernels::output_parts;
    }

    const Schedule& schedule_;
    const std::vector<FlagInfo>& infos_;
    const BriefCall& brief_;
    const Placement& placement_;
    LoweredProgram& program_;
    std::uint32_t rank_ = 0;
    std::vector<std::uint32_t> positions_;
    FlagList waits_;
    FlagList signals_;
};

}  // namespace

std::vector<FlagInfo> list_flags(const Schedule& schedule) {
    std::vector<FlagInfo> flags;
    const auto rank_of = [&](std::uint32_t lane) { return schedule.lanes[lane].rank; };
    for (std::uint32_t i = 0; i < schedule.channels.size(); ++i) {
        const std::uint32_t from = rank_of(schedule.channels[i].from_lane);
        const std::uint32_t to = rank_of(schedule.channels[i].to_lane);
        flags.push_back({FlagInfo::Kind::data, i, from, to, 0});
        flags.push_back({FlagInfo::Kind::credit, i, to, from, 0});
    }
    for (std::uint32_t i = 0; i < schedule.events.size(); ++i) {
        flags.push_back({FlagInfo::Kind::event, i, rank_of(schedule.events[i].from_lane),
                         rank_of(schedule.events[i].to_lane), 0});
    }
    for (const Lane& lane : schedule.lanes) {
        for (const Step& step : lane.steps) {
            for (const Operand& operand : step.destinations) {
                if (operand.kind == Operand::Kind::channel) {
                    ++flags[data_flag(operand.index)].per_chunk;
                    ++flags[credit_flag(operand.index)].per_chunk;
                }
            }
            for (const std::uint32_t event : step.signals) {
                ++flags[event_flag(schedule, event)].per_chunk;
            }
        }
    }
    return flags;
}

std::string describe(const FlagInfo& flag) {
    switch (flag.kind) {
        case FlagInfo::Kind::data:
            return fmt::format("data of channel {} from rank {}", flag.link, flag.writer_rank);
        case FlagInfo::Kind::credit:
            return fmt::format("a free slot of channel {} from rank {}", flag.link,
                               flag.writer_rank);
        default:
            return fmt::format("event {} from rank {}", flag.link, flag.writer_rank);
    }
}

Lowering::Lowering(const Schedule& schedule)
    : schedule_(schedule),
      flags_(list_flags(schedule)),
      brief_(brief_call(schedule)),
      lanes_(schedule.ranks) {
    for (std::size_t i = 0; i < schedule.lanes.size(); ++i) {
        lanes_[schedule.lanes[i].rank].push_back(i);
    }
}

LoweredProgram Lowering::program(std::uint32_t rank, const Placement& placement) const {
    LoweredProgram program;
    for (const std::size_t lane : lanes_[rank]) {
        LaneLowering(schedule_, flags_, brief_, placement, program).run(lane);
    }
    program.units = lower_units(schedule_, rank);
    return program;
}

bool relays(const Schedule& schedule) {
    if (schedule.unit_receivers.empty()) return false;
    return std::ranges::any_of(schedule.lanes, [&](const Lane& lane) {
        return std::ranges::any_of(lane.steps, [&](const Step& step) {
            return !step.sources.empty() && schedule.unit_owners[step.unit] != lane.rank &&
                   schedule.unit_receivers[step.unit] != lane.rank;
        });
    });
}

}  // namespace rondo
