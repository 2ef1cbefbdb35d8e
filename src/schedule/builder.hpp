// What builders of schedules have in common: lanes, channels and events that come into being when
// they are named.
#pragma once

#include <map>
#include <utility>

#include "rondo/schedule.hpp"

namespace rondo {

class ScheduleBuilder {
public:
    /// `start` has everything but lanes, channels and events. Channels get `depth` slots.
    ScheduleBuilder(Schedule start, std::uint32_t depth);

    /// Lane `number` of a rank.
    std::uint32_t lane(std::uint32_t rank, std::uint32_t number);
    /// The channel from one lane to another; lanes may have several, told apart by a number.
    Operand channel(std::uint32_t from_lane, std::uint32_t to_lane, std::uint32_t number = 0);
    /// The event from one lane to another.
    std::uint32_t event(std::uint32_t from_lane, std::uint32_t to_lane);
    void add(std::uint32_t lane, Step step);

    const Schedule& schedule() const { return schedule_; }
    /// The schedule, with at least one lane per rank. The builder is empty afterwards.
    Schedule take();

private:
    using Ends = std::pair<std::uint32_t, std::uint32_t>;

    Schedule schedule_;
    std::uint32_t depth_;
    std::map<Ends, std::uint32_t> lanes_;
    std::map<std::pair<Ends, std::uint32_t>, std::uint32_t> channels_;
    std::map<Ends, std::uint32_t> events_;
};

inline Operand input_of(std::uint32_t rank) {
    return {Operand::Kind::input, rank};
}

inline Operand output_of(std::uint32_t rank) {
    return {Operand::Kind::output, rank};
}

}  // namespace rondo
