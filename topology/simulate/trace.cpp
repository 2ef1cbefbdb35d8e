// A simulation as Chrome's trace events.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "topology/simulate/simulate.hpp"

namespace rondo {
namespace {

using Json = nlohmann::ordered_json;

Json name_event(const char* what, std::uint32_t process, std::uint32_t thread, std::string name) {
    return {{"ph", "M"},
            {"name", what},
            {"pid", process},
            {"tid", thread},
            {"args", {{"name", std::move(name)}}}};
}

std::string operands_text(const Schedule& schedule, const std::vector<Operand>& operands) {
    std::string text;
    for (const Operand& operand : operands) {
        text += text.empty() ? "" : ", ";
        if (operand.kind == Operand::Kind::channel) {
            const Channel& channel = schedule.channels[operand.index];
            text += fmt::format("channel {} (rank {} to {})", operand.index,
                                schedule.lanes[channel.from_lane].rank,
                                schedule.lanes[channel.to_lane].rank);
        } else {
            text += fmt::format("{} {}", operand.kind == Operand::Kind::input ? "input" : "output",
                                operand.index);
        }
    }
    return text;
}

const char* verb(const Step& step) {
    if (step.destinations.empty()) return "wait";
    return step.sources.size() > 1 ? "reduce" : "copy";
}

}  // namespace

std::string chrome_trace(const Schedule& schedule, const Routing& routing,
                         const Simulation& simulation) {
    Json events = Json::array();
    for (std::uint32_t rank = 0; rank < schedule.ranks; ++rank) {
        events.push_back(name_event("process_name", rank, 0,
                                    fmt::format("rank {} ({})", rank, routing.gpu(rank).id)));
    }
    std::vector<std::uint32_t> lanes_of(schedule.ranks);
    std::vector<std::uint32_t> number_of;
    for (const Lane& lane : schedule.lanes) number_of.push_back(lanes_of[lane.rank]++);
    const auto thread_of = [&](std::uint32_t lane, std::uint32_t group) {
        return group * lanes_of[schedule.lanes[lane].rank] + number_of[lane];
    };
    for (std::uint32_t group = 0; group < simulation.groups; ++group) {
        for (std::uint32_t lane = 0; lane < schedule.lanes.size(); ++lane) {
            events.push_back(
                name_event("thread_name", schedule.lanes[lane].rank, thread_of(lane, group),
                           simulation.groups == 1
                               ? fmt::format("lane {}", number_of[lane])
                               : fmt::format("lane {}, replica group {}", number_of[lane], group)));
        }
    }
    for (const StepTime& time : simulation.steps) {
        const Lane& lane = schedule.lanes[time.lane];
        const Step& step = lane.steps[time.step];
        events.push_back(
            {{"ph", "X"},
             {"name", fmt::format("{} unit {} chunk {}", verb(step), step.unit, time.chunk)},
             {"pid", lane.rank},
             {"tid", thread_of(time.lane, time.group)},
             {"ts", time.ready * 1e6},
             {"dur", (time.end - time.ready) * 1e6},
             {"args",
              {{"bytes", time.bytes},
               {"from", operands_text(schedule, step.sources)},
               {"to", operands_text(schedule, step.destinations)}}}});
    }
    return Json{{"displayTimeUnit", "ns"},
                {"otherData",
                 {{"schedule", schedule.name},
                  {"collective", to_string(schedule.collective)},
                  {"seconds", simulation.seconds},
                  {"chunks", simulation.chunks},
                  {"chunks_run", simulation.chunks_run}}},
                {"traceEvents", std::move(events)}}
        .dump();
}

}  // namespace rondo
