#include "schedule/flag_use.hpp"

#include <fmt/format.h>

namespace rondo {
namespace {

class FlagFinder {
public:
    FlagFinder(const Schedule& schedule, const BriefCall& brief)
        : schedule_(schedule), brief_(brief), channels_(schedule.channels.size()) {
        uses_.per_chunk.resize(2 * channels_ + schedule.events.size());
    }

    FlagUses run() {
        for (const Lane& lane : schedule_.lanes) {
            positions_.assign(uses_.per_chunk.size(), 0);
            uses_.steps.emplace_back();
            for (const Step& step : lane.steps) add(step);
        }
        return std::move(uses_);
    }

private:
    void add(const Step& step) {
        StepFlags& flags = uses_.steps.back().emplace_back();
        for (const std::uint32_t event : step.waits) {
            const std::uint32_t flag = event_flag(event);
            flags.waits.push_back({flag, ++positions_[flag]});
        }
        for (const Operand& operand : step.sources) {
            const bool pops = operand.kind == Operand::Kind::channel;
            flags.pops.push_back(pops ? add_pop(flags, operand.index) : 0);
        }
        for (const Operand& operand : step.destinations) {
            const bool pushes = operand.kind == Operand::Kind::channel;
            flags.pushes.push_back(pushes ? add_push(flags, operand.index) : 0);
        }
        for (const std::uint32_t event : step.signals) {
            const std::uint32_t flag = event_flag(event);
            flags.posts.push_back({flag, ++positions_[flag]});
            ++uses_.per_chunk[flag];
        }
    }

    std::uint32_t add_pop(StepFlags& flags, std::uint32_t channel) {
        const std::int64_t position = positions_[2 * channel]++;
        flags.waits.push_back({2 * channel, position + 1, !brief_.early[channel]});
        flags.posts.push_back({2 * channel + 1, position + 1, !brief_.roomy[channel]});
        return static_cast<std::uint32_t>(position);
    }

    std::uint32_t add_push(StepFlags& flags, std::uint32_t channel) {
        const std::int64_t position = positions_[2 * channel]++;
        const std::int64_t depth = schedule_.channels[channel].depth;
        flags.waits.push_back({2 * channel + 1, position + 1 - depth, !brief_.roomy[channel]});
        flags.posts.push_back({2 * channel, position + 1, !brief_.early[channel]});
        ++uses_.per_chunk[2 * channel];
        ++uses_.per_chunk[2 * channel + 1];
        return static_cast<std::uint32_t>(position);
    }

    std::uint32_t event_flag(std::uint32_t event) const {
        return static_cast<std::uint32_t>(2 * channels_) + event;
    }

    const Schedule& schedule_;
    const BriefCall& brief_;
    const std::size_t channels_;
    std::vector<std::int64_t> positions_;  ///< of each flag, in the lane that is looked at
    FlagUses uses_;
};

}  // namespace

FlagUses flag_uses(const Schedule& schedule, const BriefCall& brief) {
    return FlagFinder(schedule, brief).run();
}

std::string describe_flag(const Schedule& schedule, std::uint32_t flag) {
    const std::uint32_t link = flag / 2;
    if (link >= schedule.channels.size()) {
        const auto event = static_cast<std::uint32_t>(flag - 2 * schedule.channels.size());
        return fmt::format("event {} from lane {}", event, schedule.events[event].from_lane);
    }
    return flag % 2 == 0 ? fmt::format("data of channel {} from lane {}", link,
                                       schedule.channels[link].from_lane)
                         : fmt::format("a free slot of channel {} to lane {}", link,
                                       schedule.channels[link].to_lane);
}

}  // namespace rondo
