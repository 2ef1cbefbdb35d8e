#include "schedule/shortcuts.hpp"

#include <algorithm>

namespace rondo {

bool only_waits(const Lane& lane) {
    return std::ranges::all_of(lane.steps, [](const Step& step) {
        return step.sources.empty() && step.destinations.empty() && step.signals.empty();
    });
}

Shortcuts shortcuts_of(const Schedule& schedule) {
    Shortcuts shortcuts{.brief = brief_call(schedule)};
    for (const Lane& lane : schedule.lanes) shortcuts.strides.push_back(only_waits(lane));
    return shortcuts;
}

}  // namespace rondo
