// Derives flags, positions, waits and credits from channels and events.
#include "schedule/lower.hpp"

#include <algorithm>

#include <fmt/format.h>

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

/// Lowers one lane. A link's position counts its uses by this lane within a chunk.
class LaneLowering {
public:
    LaneLowering(const Schedule& schedule, const std::vector<FlagInfo>& infos,
                 const Placement& placement, LoweredProgram& program)
        : schedule_(schedule),
          infos_(infos),
          placement_(placement),
          program_(program),
          positions_(infos.size()) {}

    void run(const Lane& lane) {
        program_.lanes.push_back({static_cast<std::uint32_t>(program_.steps.size()),
                                  static_cast<std::uint32_t>(lane.steps.size())});
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
            waits_.push_back(flag_at(flag, ++positions_[flag]));
        }
        for (const Operand& operand : step.sources) {
            program_.spans.push_back(operand.kind == Operand::Kind::channel ? pop(operand.index)
                                                                            : buffer(operand));
        }
        for (const Operand& operand : step.destinations) {
            program_.spans.push_back(operand.kind == Operand::Kind::channel ? push(operand.index)
                                                                            : buffer(operand));
        }
        for (const std::uint32_t event : step.signals) {
            const std::size_t flag = event_flag(schedule_, event);
            signals_.push_back(flag_at(flag, ++positions_[flag]));
        }
        lowered.waits = static_cast<std::uint16_t>(waits_.size());
        lowered.signals = static_cast<std::uint16_t>(signals_.size());
        program_.flags.insert(program_.flags.end(), waits_.begin(), waits_.end());
        program_.flags.insert(program_.flags.end(), signals_.begin(), signals_.end());
        program_.steps.push_back(lowered);
    }

    kernels::ProgramFlag flag_at(std::size_t flag, std::uint32_t offset) const {
        return {.flag = placement_.flags[flag],
                .per_chunk = infos_[flag].per_chunk,
                .offset = offset,
                .number = placement_.first_flag_number + static_cast<std::uint32_t>(flag)};
    }

    kernels::ProgramSpan slot(std::uint32_t channel, std::uint32_t position) const {
        return {.space = kernels::ProgramSpan::slot,
                .per_chunk = infos_[data_flag(channel)].per_chunk,
                .position = position,
                .mask = schedule_.channels[channel].depth - 1,
                .slots = placement_.slots[channel]};
    }

    kernels::ProgramSpan pop(std::uint32_t channel) {
        const std::uint32_t position = positions_[data_flag(channel)]++;
        waits_.push_back(flag_at(data_flag(channel), position + 1));
        signals_.push_back(flag_at(credit_flag(channel), position + 1));
        return slot(channel, position);
    }

    kernels::ProgramSpan push(std::uint32_t channel) {
        const std::uint32_t position = positions_[data_flag(channel)]++;
        waits_.push_back(
            flag_at(credit_flag(channel), position + 1 - schedule_.channels[channel].depth));
        signals_.push_back(flag_at(data_flag(channel), position + 1));
        return slot(channel, position);
    }

    kernels::ProgramSpan buffer(const Operand& operand) const {
        const bool is_input = operand.kind == Operand::Kind::input;
        const bool begins_with_own =
            schedule_.collective ==
            (is_input ? Collective::all_gather : Collective::reduce_scatter);
        const auto& owners = schedule_.unit_owners;
        const auto first = std::lower_bound(owners.begin(), owners.end(), operand.index);
        return {
            .space = is_input ? kernels::ProgramSpan::input : kernels::ProgramSpan::output,
            .rank = operand.index,
            .base_unit = begins_with_own ? static_cast<std::uint32_t>(first - owners.begin()) : 0};
    }

    const Schedule& schedule_;
    const std::vector<FlagInfo>& infos_;
    const Placement& placement_;
    LoweredProgram& program_;
    std::vector<std::uint32_t> positions_;
    std::vector<kernels::ProgramFlag> waits_;
    std::vector<kernels::ProgramFlag> signals_;
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

LoweredProgram lower(const Schedule& schedule, std::uint32_t rank, const Placement& placement) {
    LoweredProgram program;
    const std::vector<FlagInfo> infos = list_flags(schedule);
    for (const Lane& lane : schedule.lanes) {
        if (lane.rank == rank) {
            LaneLowering(schedule, infos, placement, program).run(lane);
        }
    }
    return program;
}

std::vector<std::uint64_t> unit_begins(const Schedule& schedule) {
    std::vector<std::uint64_t> begins{0};
    for (const std::uint64_t share : schedule.unit_shares) {
        begins.push_back(begins.back() + share);
    }
    return begins;
}

}  // namespace rondo
