// See the header.
#include "training/strategy/json_fields.hpp"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "rondo/error.hpp"

namespace rondo::training {
namespace {

constexpr std::size_t json_size_limit = std::size_t{16} << 20;
constexpr int json_depth_limit = 64;

[[noreturn]] void fail_at(const std::string& path, const std::string& what) {
    throw InvalidArgument(fmt::format("{} {}", path.empty() ? "the JSON value" : path, what));
}

std::string short_text(const OrderedJson& value) {
    std::string text = value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
    if (text.size() > 60) text = text.substr(0, 57) + "...";
    return text;
}

}  // namespace

OrderedJson parse_bounded_json(std::string_view text) {
    if (text.size() > json_size_limit) {
        throw InvalidArgument(fmt::format("a JSON text of {} bytes is too long; the limit is {}",
                                          text.size(), json_size_limit));
    }
    std::vector<std::set<std::string>> keys;
    std::string repeated;
    const auto watch = [&](int depth, OrderedJson::parse_event_t event, OrderedJson& parsed) {
        using Event = OrderedJson::parse_event_t;
        if (depth > json_depth_limit) throw InvalidArgument("the JSON text is nested too deeply");
        if (event == Event::object_start) keys.emplace_back();
        if (event == Event::object_end) keys.pop_back();
        if (event == Event::key && !keys.back().insert(parsed.get<std::string>()).second) {
            throw InvalidArgument(
                fmt::format("the JSON key '{}' is there twice", parsed.get<std::string>()));
        }
        return true;
    };
    try {
        return OrderedJson::parse(text, watch);
    } catch (const OrderedJson::exception& error) {
        throw InvalidArgument(fmt::format("this is no JSON: {}", error.what()));
    }
}

JsonFields::JsonFields(const OrderedJson& value, std::string path)
    : value_(&value), path_(std::move(path)) {
    if (!value.is_object()) fail_at(path_, "must be an object, it is " + short_text(value));
}

bool JsonFields::has(std::string_view key) {
    known_.emplace(key);
    return value_->contains(key);
}

const OrderedJson& JsonFields::at(std::string_view key) {
    if (!has(key)) fail_at(path_, fmt::format("lacks the field '{}'", key));
    return (*value_)[std::string(key)];
}

const OrderedJson& JsonFields::any(std::string_view key) {
    return at(key);
}

const OrderedJson& JsonFields::array(std::string_view key) {
    const OrderedJson& value = at(key);
    if (!value.is_array()) fail(key, "must be a list, it is " + short_text(value));
    return value;
}

void JsonFields::fail(std::string_view key, const std::string& what) const {
    fail_at(fmt::format("{}/{}", path_, key), what);
}

std::string JsonFields::text(std::string_view key) {
    const OrderedJson& value = at(key);
    if (!value.is_string()) fail(key, "must be a text, it is " + short_text(value));
    return value.get<std::string>();
}

std::string JsonFields::text_or(std::string_view key, std::string otherwise) {
    return has(key) ? text(key) : otherwise;
}

double JsonFields::number(std::string_view key) {
    const OrderedJson& value = at(key);
    if (!value.is_number()) fail(key, "must be a number, it is " + short_text(value));
    return value.get<double>();
}

double JsonFields::number_or(std::string_view key, double otherwise) {
    return has(key) ? number(key) : otherwise;
}

bool JsonFields::boolean_or(std::string_view key, bool otherwise) {
    if (!has(key)) return otherwise;
    const OrderedJson& value = at(key);
    if (!value.is_boolean()) fail(key, "must be true or false, it is " + short_text(value));
    return value.get<bool>();
}

std::uint64_t JsonFields::unsigned_number(std::string_view key) {
    const OrderedJson& value = at(key);
    if (!value.is_number_unsigned()) {
        fail(key, "must be a whole number from 0 on, it is " + short_text(value));
    }
    return value.get<std::uint64_t>();
}

std::uint64_t JsonFields::unsigned_or(std::string_view key, std::uint64_t otherwise) {
    return has(key) ? unsigned_number(key) : otherwise;
}

std::uint32_t JsonFields::small_number(std::string_view key) {
    const std::uint64_t value = unsigned_number(key);
    if (value > std::numeric_limits<std::uint32_t>::max()) {
        fail(key, fmt::format("is {}; that is too much", value));
    }
    return static_cast<std::uint32_t>(value);
}

std::uint32_t JsonFields::small_or(std::string_view key, std::uint32_t otherwise) {
    return has(key) ? small_number(key) : otherwise;
}

std::vector<std::string> JsonFields::texts(std::string_view key) {
    std::vector<std::string> result;
    for (const OrderedJson& value : array(key)) {
        if (!value.is_string()) {
            fail(fmt::format("{}/{}", key, result.size()),
                 "must be a text, it is " + short_text(value));
        }
        result.push_back(value.get<std::string>());
    }
    return result;
}

std::vector<double> JsonFields::numbers(std::string_view key) {
    std::vector<double> result;
    for (const OrderedJson& value : array(key)) {
        if (!value.is_number()) {
            fail(fmt::format("{}/{}", key, result.size()),
                 "must be a number, it is " + short_text(value));
        }
        result.push_back(value.get<double>());
    }
    return result;
}

JsonFields JsonFields::object(std::string_view key) {
    return {at(key), fmt::format("{}/{}", path_, key)};
}

std::vector<JsonFields> JsonFields::objects(std::string_view key) {
    std::vector<JsonFields> result;
    for (const OrderedJson& value : array(key)) {
        result.emplace_back(value, fmt::format("{}/{}/{}", path_, key, result.size()));
    }
    return result;
}

void JsonFields::finish() const {
    for (const auto& [key, value] : value_->items()) {
        if (known_.contains(key)) continue;
        std::string known;
        for (const std::string& name : known_) known += (known.empty() ? "" : ", ") + name;
        fail(key, "is a field that is not known here; known are " + known);
    }
}

}  // namespace rondo::training
