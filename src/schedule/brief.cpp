#include "schedule/brief.hpp"

#include <algorithm>

#include "schedule/rates.hpp"

namespace rondo {
namespace {

std::uint32_t count_early_steps(const Schedule& schedule, const std::vector<std::uint32_t>& pushes,
                                const Lane& lane) {
    const auto is_own_input = [&](const Operand& operand) {
        return operand == Operand{Operand::Kind::input, lane.rank};
    };
    const auto has_room_for_two = [&](const Operand& operand) {
        return operand.kind == Operand::Kind::channel && pushes[operand.index] == 1 &&
               schedule.channels[operand.index].depth >= 2;
    };
    const auto is_early = [&](const Step& step) {
        return step.waits.empty() && step.signals.empty() && !step.sources.empty() &&
               std::ranges::all_of(step.sources, is_own_input) &&
               std::ranges::all_of(step.destinations, has_room_for_two);
    };
    return static_cast<std::uint32_t>(std::ranges::find_if_not(lane.steps, is_early) -
                                      lane.steps.begin());
}

}  // namespace

BriefCall brief_call(const Schedule& schedule) {
    const std::vector<std::uint32_t> pushes = pushes_per_chunk(schedule);
    BriefCall brief{.early_steps = std::vector<std::uint32_t>(schedule.lanes.size()),
                    .early = std::vector<bool>(schedule.channels.size()),
                    .roomy = std::vector<bool>(schedule.channels.size())};
    for (std::size_t i = 0; i < schedule.channels.size(); ++i) {
        brief.roomy[i] = pushes[i] <= schedule.channels[i].depth;
    }
    std::vector<bool> entered(schedule.ranks);
    for (std::size_t i = 0; i < schedule.lanes.size(); ++i) {
        const Lane& lane = schedule.lanes[i];
        if (entered[lane.rank]) continue;
        entered[lane.rank] = true;
        brief.early_steps[i] = count_early_steps(schedule, pushes, lane);
        for (std::uint32_t step = 0; step < brief.early_steps[i]; ++step) {
            for (const Operand& channel : lane.steps[step].destinations) {
                brief.early[channel.index] = true;
            }
        }
    }
    return brief;
}

}  // namespace rondo
