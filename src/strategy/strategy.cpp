// The table of strategies, and strategies as values: checks, printed form, JSON.
#include "rondo/strategy.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <ostream>

#include <fmt/format.h>

#include "base/json_object.hpp"
#include "strategy/strategy_entry.hpp"

namespace rondo {

#define RONDO_STRATEGY(name) extern constinit const StrategyEntry name##_strategy;
#include "strategy/strategies.inc"
#undef RONDO_STRATEGY

std::span<const StrategyEntry* const> strategy_table() {
#define RONDO_STRATEGY(name) &name##_strategy,
    static constexpr std::array entries{
#include "strategy/strategies.inc"
    };
#undef RONDO_STRATEGY
    return entries;
}

/// What a strategy stores, for those who know the table.
struct StrategyPlace {
    static const StrategyEntry* entry(const Strategy& strategy) {
        return strategy.is_automatic() ? nullptr : strategy_table()[strategy.place_ - 1];
    }
    static Strategy make(std::size_t place, std::uint32_t parameter) {
        Strategy strategy;
        strategy.place_ = static_cast<std::uint32_t>(place + 1);
        strategy.parameter_ = parameter;
        return strategy;
    }
};

namespace {

constexpr std::string_view automatic_name = "automatic";

/// Null for automatic.
const StrategyEntry* find_entry(std::string_view name) {
    if (name == automatic_name) return nullptr;
    for (const StrategyEntry* const entry : strategy_table()) {
        if (entry->name == name) return entry;
    }
    throw InvalidArgument(fmt::format("unknown strategy '{}'; it must be one of {}", name,
                                      fmt::join(strategy_names(), ", ")));
}

Strategy make_strategy(const StrategyEntry* entry, std::int64_t parameter) {
    if (entry == nullptr) return {};
    if (!entry->parameter.empty() && (parameter < entry->least || parameter > entry->most)) {
        throw InvalidArgument(fmt::format("{} of {} is {}; it must be {} to {}", entry->parameter,
                                          entry->name, parameter, entry->least, entry->most));
    }
    const auto table = strategy_table();
    return StrategyPlace::make(
        static_cast<std::size_t>(std::ranges::find(table, entry) - table.begin()),
        entry->parameter.empty() ? 0 : static_cast<std::uint32_t>(parameter));
}

bool prints_parameter(const StrategyEntry* entry, const Strategy& strategy) {
    return entry != nullptr && !entry->parameter.empty() && entry->any_form != strategy.parameter();
}

std::string_view name_of(const StrategyEntry* entry) {
    return entry == nullptr ? automatic_name : entry->name;
}

std::int64_t parse_parameter(const StrategyEntry* entry, std::string_view text,
                             std::string_view inside) {
    std::int64_t parameter = 0;
    const char* const end = inside.data() + inside.size();
    const auto [stop, error] = std::from_chars(inside.data(), end, parameter);
    if (error != std::errc() || stop != end) {
        throw InvalidArgument(fmt::format("'{}': {} takes one whole number, its {}: {}({})", text,
                                          entry->name, entry->parameter, entry->name,
                                          std::max<std::int64_t>(entry->least, 1)));
    }
    return parameter;
}

Strategy read_strategy(const JsonObject& object) {
    const StrategyEntry* const entry = find_entry(object.text("strategy"));
    if (entry == nullptr || entry->parameter.empty()) {
        object.allow_only({"strategy"});
        return make_strategy(entry, 0);
    }
    object.allow_only({"strategy", entry->parameter});
    if (entry->any_form && !object.has(entry->parameter)) {
        return make_strategy(entry, *entry->any_form);
    }
    return make_strategy(entry, object.integer(entry->parameter));
}

}  // namespace

const StrategyEntry& entry_of(const Strategy& strategy) {
    const StrategyEntry* const entry = StrategyPlace::entry(strategy);
    if (entry == nullptr) throw InvalidArgument("automatic is a choice, not a way to build");
    return *entry;
}

std::vector<Strategy> sample_strategies() {
    std::vector<Strategy> samples;
    for (const StrategyEntry* const entry : strategy_table()) {
        const auto parameters =
            entry->samples == nullptr ? std::vector<std::uint32_t>{0} : entry->samples();
        for (const std::uint32_t parameter : parameters) {
            samples.push_back(make_strategy(entry, parameter));
        }
    }
    return samples;
}

std::vector<std::string> strategy_names() {
    std::vector<std::string> names{std::string(automatic_name)};
    for (const StrategyEntry* const entry : strategy_table()) names.emplace_back(entry->name);
    return names;
}

Strategy Strategy::named(std::string_view name, std::int64_t parameter) {
    return make_strategy(find_entry(name), parameter);
}

Strategy Strategy::centralized() {
    return named("centralized");
}

Strategy Strategy::tree(std::uint32_t arity) {
    return named("tree", arity);
}

Strategy Strategy::ring() {
    return named("ring");
}

Strategy Strategy::hierarchical_copy(std::int64_t num_packs) {
    return named("hierarchical_copy", num_packs);
}

Strategy Strategy::reduction_to_one_device(int device) {
    return named("reduction_to_one_device", device);
}

Strategy Strategy::direct(std::uint32_t shots) {
    return named("direct", shots);
}

Strategy Strategy::forest() {
    return named("forest");
}

std::string_view Strategy::name() const {
    return name_of(StrategyPlace::entry(*this));
}

AllReduceStrategy AllReduceStrategy::from(const Strategy& strategy) {
    constexpr std::array names{"centralized", "tree", "ring"};
    if (std::ranges::find(names, strategy.name()) == names.end()) {
        throw InvalidArgument(fmt::format("{} is no AllReduceStrategy; it must be {}",
                                          to_string(strategy), fmt::join(names, ", ")));
    }
    return AllReduceStrategy(strategy);
}

std::string to_string(const Strategy& strategy) {
    return prints_parameter(StrategyPlace::entry(strategy), strategy)
               ? fmt::format("{}({})", strategy.name(), strategy.parameter())
               : std::string(strategy.name());
}

std::ostream& operator<<(std::ostream& stream, const Strategy& strategy) {
    return stream << to_string(strategy);
}

Strategy parse_strategy(std::string_view text) {
    const std::size_t open = text.find('(');
    const StrategyEntry* const entry = find_entry(text.substr(0, open));
    const bool has_parameter = entry != nullptr && !entry->parameter.empty();
    if (open == text.npos) {
        if (!has_parameter) return make_strategy(entry, 0);
        if (entry->any_form) return make_strategy(entry, *entry->any_form);
        throw InvalidArgument(fmt::format("{} needs its {}: {}({})", text, entry->parameter, text,
                                          std::max<std::int64_t>(entry->least, 1)));
    }
    if (!has_parameter) {
        throw InvalidArgument(fmt::format("'{}': {} takes no number", text, text.substr(0, open)));
    }
    if (!text.ends_with(')')) throw InvalidArgument(fmt::format("'{}' lacks its ')'", text));
    return make_strategy(
        entry, parse_parameter(entry, text, text.substr(open + 1, text.size() - open - 2)));
}

std::string to_json(const Strategy& strategy) {
    const StrategyEntry* const entry = StrategyPlace::entry(strategy);
    Json json = {{"strategy", strategy.name()}};
    if (prints_parameter(entry, strategy)) {
        json[std::string(entry->parameter)] = strategy.parameter();
    }
    return json.dump();
}

Strategy strategy_from_json(std::string_view text) {
    try {
        const Json json = parse_strict_json(text);
        return read_strategy(JsonObject(json, ""));
    } catch (const JsonError& error) {
        throw InvalidArgument(fmt::format("strategy: {}", error.what()));
    }
}

}  // namespace rondo
