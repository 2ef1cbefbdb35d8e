// The strategy values: checks, printed form, JSON.
#include "rondo/strategy.hpp"

#include <array>
#include <charconv>

#include <fmt/format.h>

#include "rondo/types.hpp"
#include "topology/graph/error.hpp"
#include "topology/graph/json_object.hpp"

namespace rondo {
namespace {

struct KindInfo {
    std::string_view name;
    std::string_view parameter;  ///< its key in JSON, or empty
    bool parameter_optional = false;
};

/// In the order of Strategy::Kind.
constexpr std::array<KindInfo, 8> kinds{{{"automatic", ""},
                                         {"centralized", ""},
                                         {"tree", "arity"},
                                         {"ring", ""},
                                         {"hierarchical_copy", "num_packs"},
                                         {"reduction_to_one_device", "device"},
                                         {"direct", "shots", true},
                                         {"forest", ""}}};

constexpr auto kind_names = [] {
    std::array<std::string_view, kinds.size()> names;
    for (std::size_t i = 0; i < kinds.size(); ++i) names[i] = kinds[i].name;
    return names;
}();

std::uint32_t checked(std::int64_t value, std::int64_t least, std::int64_t most, const char* what) {
    if (value < least || value > most) {
        throw InvalidArgument(
            fmt::format("{} is {}; it must be {} to {}", what, value, least, most));
    }
    return static_cast<std::uint32_t>(value);
}

Strategy make(Strategy::Kind kind, std::int64_t parameter) {
    switch (kind) {
        case Strategy::Kind::automatic:
            return Strategy::automatic();
        case Strategy::Kind::centralized:
            return Strategy::centralized();
        case Strategy::Kind::tree:
            return Strategy::tree(checked(parameter, 1, INT32_MAX, "the arity of tree"));
        case Strategy::Kind::ring:
            return Strategy::ring();
        case Strategy::Kind::hierarchical_copy:
            return Strategy::hierarchical_copy(parameter);
        case Strategy::Kind::reduction_to_one_device:
            return Strategy::reduction_to_one_device(static_cast<int>(
                checked(parameter, 0, INT32_MAX, "the device of reduction_to_one_device")));
        case Strategy::Kind::direct:
            return Strategy::direct(checked(parameter, 0, 2, "the shots of direct"));
        case Strategy::Kind::forest:
            return Strategy::forest();
    }
    throw InvalidArgument("there is no such strategy");
}

std::int64_t parameter_of(const Strategy& strategy) {
    return strategy.arity();  // all parameters are one number
}

bool prints_parameter(const Strategy& strategy) {
    const KindInfo& info = kinds[static_cast<std::size_t>(strategy.kind())];
    return !info.parameter.empty() && !(info.parameter_optional && parameter_of(strategy) == 0);
}

Strategy read_strategy(const JsonObject& object) {
    const auto kind =
        detail::parse_name<Strategy::Kind>(object.text("strategy"), kind_names, "strategy");
    const KindInfo& info = kinds[static_cast<std::size_t>(kind)];
    if (info.parameter.empty()) {
        object.allow_only({"strategy"});
        return make(kind, 0);
    }
    object.allow_only({"strategy", info.parameter});
    const bool given = !info.parameter_optional || object.has(info.parameter);
    return make(kind, given ? object.integer(info.parameter) : 0);
}

}  // namespace

Strategy Strategy::tree(std::uint32_t arity) {
    return {Kind::tree, checked(arity, 1, INT32_MAX, "the arity of tree")};
}

Strategy Strategy::hierarchical_copy(std::int64_t num_packs) {
    return {Kind::hierarchical_copy,
            checked(num_packs, 1, 1 << 20, "num_packs of hierarchical_copy")};
}

Strategy Strategy::reduction_to_one_device(int device) {
    return {Kind::reduction_to_one_device,
            checked(device, 0, INT32_MAX, "the device of reduction_to_one_device")};
}

Strategy Strategy::direct(std::uint32_t shots) {
    return {Kind::direct, checked(shots, 0, 2, "the shots of direct")};
}

AllReduceStrategy AllReduceStrategy::from(const Strategy& strategy) {
    const Strategy::Kind kind = strategy.kind();
    if (kind != Strategy::Kind::centralized && kind != Strategy::Kind::tree &&
        kind != Strategy::Kind::ring) {
        throw InvalidArgument(
            fmt::format("{} is no AllReduceStrategy; it must be centralized, tree or ring",
                        to_string(strategy)));
    }
    return AllReduceStrategy(strategy);
}

std::string to_string(const Strategy& strategy) {
    const std::string_view name = kind_names[static_cast<std::size_t>(strategy.kind())];
    return prints_parameter(strategy) ? fmt::format("{}({})", name, parameter_of(strategy))
                                      : std::string(name);
}

Strategy parse_strategy(std::string_view text) {
    const std::size_t open = text.find('(');
    const auto kind =
        detail::parse_name<Strategy::Kind>(text.substr(0, open), kind_names, "strategy");
    const KindInfo& info = kinds[static_cast<std::size_t>(kind)];
    if (open == text.npos && (info.parameter.empty() || info.parameter_optional)) {
        return make(kind, 0);
    }
    std::int64_t parameter = 0;
    const char* const end = text.data() + text.size();
    const char* rest = end;
    if (open != text.npos && !info.parameter.empty()) {
        const auto [stop, error] = std::from_chars(text.data() + open + 1, end, parameter);
        rest = error == std::errc() ? stop : end;
    }
    if (rest + 1 != end || *rest != ')') {
        throw InvalidArgument(
            fmt::format("'{}' is no strategy; {} is written {}{}", text, info.name, info.name,
                        info.parameter.empty() ? "" : fmt::format("({})", info.parameter)));
    }
    return make(kind, parameter);
}

std::string to_json(const Strategy& strategy) {
    const KindInfo& info = kinds[static_cast<std::size_t>(strategy.kind())];
    Json json = {{"strategy", info.name}};
    if (prints_parameter(strategy)) {
        json[std::string(info.parameter)] = parameter_of(strategy);
    }
    return json.dump();
}

Strategy strategy_from_json(std::string_view text) {
    try {
        const Json json = parse_strict_json(text);
        return read_strategy(JsonObject(json, ""));
    } catch (const TopologyError& error) {
        throw InvalidArgument(fmt::format("strategy: {}", error.what()));
    }
}

}  // namespace rondo
