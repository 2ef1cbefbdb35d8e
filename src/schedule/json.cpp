// Schedules as JSON. Written for people who look at them and for those who bring their own.
#include <charconv>

#include <fmt/format.h>

#include "base/json_object.hpp"
#include "rondo/schedule.hpp"

namespace rondo {
namespace {

constexpr std::string_view schema_name = "rondo-schedule-2";
constexpr std::array<std::string_view, 3> operand_names{"input", "output", "channel"};

Json write_operands(const std::vector<Operand>& operands) {
    Json list = Json::array();
    for (const Operand& operand : operands) {
        list.push_back(fmt::format("{} {}", operand_names[static_cast<std::size_t>(operand.kind)],
                                   operand.index));
    }
    return list;
}

Json write_step(const Step& step) {
    Json json = {{"unit", step.unit}};
    if (!step.waits.empty()) json["waits"] = step.waits;
    if (!step.sources.empty()) json["sources"] = write_operands(step.sources);
    if (!step.destinations.empty()) json["destinations"] = write_operands(step.destinations);
    if (step.finishes) json["finishes"] = true;
    if (!step.signals.empty()) json["signals"] = step.signals;
    return json;
}

std::uint32_t index_of(const JsonObject& object, std::string_view key) {
    const std::int64_t value = object.integer(key);
    if (value < 0 || value > UINT32_MAX) {
        object.fail(key, fmt::format("{} must be 0 to {}", value, UINT32_MAX));
    }
    return static_cast<std::uint32_t>(value);
}

template <class Number>
std::vector<Number> numbers(const JsonObject& object, std::string_view key) {
    std::vector<Number> values;
    if (object.has(key)) {
        for (const std::int64_t value : object.integers(key)) {
            if (value < 0 ||
                static_cast<std::uint64_t>(value) > std::numeric_limits<Number>::max()) {
                object.fail(key, fmt::format("{} is out of range", value));
            }
            values.push_back(static_cast<Number>(value));
        }
    }
    return values;
}

Operand read_operand(const JsonObject& object, std::string_view key, const std::string& text) {
    for (std::size_t kind = 0; kind < operand_names.size(); ++kind) {
        const std::string_view name = operand_names[kind];
        if (text.starts_with(name) && text.size() > name.size() + 1 && text[name.size()] == ' ') {
            Operand operand{static_cast<Operand::Kind>(kind), 0};
            const char* const end = text.data() + text.size();
            const auto [rest, error] =
                std::from_chars(text.data() + name.size() + 1, end, operand.index);
            if (error == std::errc() && rest == end) {
                return operand;
            }
        }
    }
    object.fail(
        key, fmt::format("'{}' is no operand; write 'input 3', 'output 0' or 'channel 12'", text));
}

std::vector<Operand> read_operands(const JsonObject& object, std::string_view key) {
    std::vector<Operand> operands;
    if (object.has(key)) {
        for (const std::string& text : object.texts(key)) {
            operands.push_back(read_operand(object, key, text));
        }
    }
    return operands;
}

Step read_step(const JsonObject& object) {
    object.allow_only({"unit", "waits", "sources", "destinations", "finishes", "signals"});
    return {.unit = index_of(object, "unit"),
            .sources = read_operands(object, "sources"),
            .destinations = read_operands(object, "destinations"),
            .waits = numbers<std::uint32_t>(object, "waits"),
            .signals = numbers<std::uint32_t>(object, "signals"),
            .finishes = object.boolean_or("finishes", false)};
}

Lane read_lane(const JsonObject& object) {
    object.allow_only({"rank", "steps"});
    Lane lane{.rank = index_of(object, "rank"), .steps = {}};
    for (const JsonObject& step : object.objects("steps")) {
        lane.steps.push_back(read_step(step));
    }
    return lane;
}

Schedule read_schedule(const JsonObject& object) {
    object.allow_only({"schema", "name", "collective", "ranks", "root", "destinations",
                       "unit_shares", "unit_owners", "unit_receivers", "channels", "events",
                       "lanes", "chunked"});
    if (object.text("schema") != schema_name) {
        object.fail("schema", fmt::format("'{}' is not known; it must be '{}'",
                                          object.text("schema"), schema_name));
    }
    Schedule schedule{.name = object.text_or("name", "custom"),
                      .collective = parse_collective(object.text("collective")),
                      .ranks = index_of(object, "ranks"),
                      .root = object.has("root") ? index_of(object, "root") : 0,
                      .destinations = numbers<std::uint32_t>(object, "destinations"),
                      .unit_shares = numbers<std::uint64_t>(object, "unit_shares"),
                      .unit_owners = numbers<std::uint32_t>(object, "unit_owners"),
                      .unit_receivers = numbers<std::uint32_t>(object, "unit_receivers"),
                      .lanes = {},
                      .channels = {},
                      .events = {},
                      .chunked = object.boolean_or("chunked", false)};
    for (const JsonObject& channel : object.objects("channels")) {
        channel.allow_only({"from_lane", "to_lane", "depth"});
        schedule.channels.push_back({index_of(channel, "from_lane"), index_of(channel, "to_lane"),
                                     index_of(channel, "depth")});
    }
    for (const JsonObject& event : object.objects("events")) {
        event.allow_only({"from_lane", "to_lane"});
        schedule.events.push_back({index_of(event, "from_lane"), index_of(event, "to_lane")});
    }
    for (const JsonObject& lane : object.objects("lanes")) {
        schedule.lanes.push_back(read_lane(lane));
    }
    return schedule;
}

}  // namespace

std::string to_json(const Schedule& schedule) {
    Json json = {{"schema", schema_name},
                 {"name", schedule.name},
                 {"collective", to_string(schedule.collective)},
                 {"ranks", schedule.ranks},
                 {"root", schedule.root},
                 {"destinations", schedule.destinations},
                 {"unit_shares", schedule.unit_shares},
                 {"unit_owners", schedule.unit_owners},
                 {"channels", Json::array()},
                 {"events", Json::array()},
                 {"lanes", Json::array()}};
    if (!schedule.unit_receivers.empty()) json["unit_receivers"] = schedule.unit_receivers;
    if (schedule.chunked) json["chunked"] = true;
    for (const Channel& channel : schedule.channels) {
        json["channels"].push_back({{"from_lane", channel.from_lane},
                                    {"to_lane", channel.to_lane},
                                    {"depth", channel.depth}});
    }
    for (const EventLink& event : schedule.events) {
        json["events"].push_back({{"from_lane", event.from_lane}, {"to_lane", event.to_lane}});
    }
    for (const Lane& lane : schedule.lanes) {
        Json steps = Json::array();
        for (const Step& step : lane.steps) {
            steps.push_back(write_step(step));
        }
        json["lanes"].push_back({{"rank", lane.rank}, {"steps", std::move(steps)}});
    }
    return json.dump(1);
}

Schedule schedule_from_json(std::string_view text) {
    try {
        const Json json = parse_strict_json(text);
        Schedule schedule = read_schedule(JsonObject(json, ""));
        validate(schedule);
        return schedule;
    } catch (const JsonError& error) {
        throw InvalidArgument(fmt::format("schedule: {}", error.what()));
    }
}

}  // namespace rondo
