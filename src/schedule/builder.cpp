// Lanes, channels and events on demand.
#include "schedule/builder.hpp"

namespace rondo {
namespace {

/// The number under which `ends` is known, and whether it is new.
template <class Ends>
std::pair<std::uint32_t, bool> number_of(std::map<Ends, std::uint32_t>& known, const Ends& ends) {
    const auto [place, added] = known.try_emplace(ends, static_cast<std::uint32_t>(known.size()));
    return {place->second, added};
}

}  // namespace

ScheduleBuilder::ScheduleBuilder(Schedule start, std::uint32_t depth)
    : schedule_(std::move(start)), depth_(depth) {}

std::uint32_t ScheduleBuilder::lane(std::uint32_t rank, std::uint32_t number) {
    const auto [lane, added] = number_of(lanes_, Ends{rank, number});
    if (added) {
        schedule_.lanes.push_back({rank, {}});
    }
    return lane;
}

Operand ScheduleBuilder::channel(std::uint32_t from_lane, std::uint32_t to_lane,
                                 std::uint32_t number) {
    const auto [channel, added] = number_of(channels_, {Ends{from_lane, to_lane}, number});
    if (added) {
        schedule_.channels.push_back({from_lane, to_lane, depth_});
    }
    return {Operand::Kind::channel, channel};
}

std::uint32_t ScheduleBuilder::event(std::uint32_t from_lane, std::uint32_t to_lane) {
    const auto [event, added] = number_of(events_, Ends{from_lane, to_lane});
    if (added) {
        schedule_.events.push_back({from_lane, to_lane});
    }
    return event;
}

void ScheduleBuilder::add(std::uint32_t lane, Step step) {
    schedule_.lanes[lane].steps.push_back(std::move(step));
}

Schedule ScheduleBuilder::take() {
    std::vector<bool> present(schedule_.ranks);
    for (const Lane& own : schedule_.lanes) {
        present[own.rank] = true;
    }
    for (std::uint32_t rank = 0; rank < schedule_.ranks; ++rank) {
        if (!present[rank]) {
            lane(rank, 0);
        }
    }
    return std::move(schedule_);
}

}  // namespace rondo
