// A strict view of one JSON object, and the parser below it.
#include "base/json_object.hpp"

#include <algorithm>
#include <climits>
#include <set>

#include "base/quotes.hpp"

namespace rondo {
namespace {

constexpr int deepest_nesting = 16;

/// Watches the parser: bounds the depth and finds repeated keys, which a JSON object would hide.
class ParseGuard {
public:
    bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
        if (depth > deepest_nesting) {
            throw JsonError("JSON is nested deeper than " + std::to_string(deepest_nesting) +
                            " levels");
        }
        if (event == Json::parse_event_t::object_start) keys_.emplace_back();
        if (event == Json::parse_event_t::object_end) keys_.pop_back();
        if (event == Json::parse_event_t::key) {
            const auto& key = parsed.get_ref<const std::string&>();
            if (!keys_.back().insert(key).second) {
                throw JsonError("JSON key " + in_quotes(key) + " appears twice in one object");
            }
        }
        return true;
    }

private:
    std::vector<std::set<std::string>> keys_;
};

/// The message without the library's "[json.exception...]" tag.
std::string plain_message(const nlohmann::json::exception& error) {
    const std::string_view message = error.what();
    const auto tag_end = message.find("] ");
    return std::string(tag_end == message.npos ? message : message.substr(tag_end + 2));
}

std::string article(std::string_view type_name) {
    if (type_name == "null") return "null";
    const bool vowel = std::string_view("aeiou").find(type_name.front()) != std::string_view::npos;
    return (vowel ? "an " : "a ") + std::string(type_name);
}

std::string found(const Json& value) {
    return ", found " + article(value.type_name());
}

}  // namespace

Json parse_strict_json(std::string_view text) {
    if (text.size() > largest_json_text) {
        throw JsonError("the text has " + std::to_string(text.size()) + " bytes; at most " +
                        std::to_string(largest_json_text) + " are allowed");
    }
    ParseGuard guard;
    try {
        return Json::parse(text.begin(), text.end(), std::ref(guard));
    } catch (const nlohmann::json::exception& error) {
        throw JsonError("not valid JSON: " + plain_message(error));
    }
}

JsonObject::JsonObject(const Json& value, std::string path)
    : value_(value), path_(std::move(path)) {
    if (!value_.is_object()) fail("expected an object" + found(value_));
}

void JsonObject::allow_only(const std::vector<std::string_view>& keys) const {
    for (const auto& item : value_.items()) {
        if (std::ranges::find(keys, item.key()) != keys.end()) continue;
        std::string known;
        for (const auto key : keys) known.append(known.empty() ? "" : ", ").append(key);
        fail("unknown key " + in_quotes(item.key()) + " (known keys: " + known + ")");
    }
}

std::string JsonObject::text(std::string_view key) const {
    const Json& value = at(key);
    if (!value.is_string()) fail(key, "expected a string" + found(value));
    return value.get<std::string>();
}

std::int64_t JsonObject::integer(std::string_view key) const {
    return whole_number(std::string(key), at(key));
}

std::vector<std::int64_t> JsonObject::integers(std::string_view key) const {
    std::vector<std::int64_t> result;
    for (const Json& value : array(key)) {
        result.push_back(
            whole_number(std::string(key) + "/" + std::to_string(result.size()), value));
    }
    return result;
}

std::int64_t JsonObject::whole_number(const std::string& key, const Json& value) const {
    if (!value.is_number()) fail(key, "expected an integer" + found(value));
    const bool fits = value.is_number_unsigned() ? value.get<std::uint64_t>() <= INT64_MAX
                                                 : value.is_number_integer();
    if (!fits) fail(key, "expected an integer of at most 63 bits, found " + value.dump());
    return value.get<std::int64_t>();
}

int JsonObject::small_integer(std::string_view key) const {
    const std::int64_t value = integer(key);
    if (value < INT_MIN || value > INT_MAX) fail(key, std::to_string(value) + " is out of range");
    return static_cast<int>(value);
}

double JsonObject::number(std::string_view key) const {
    const Json& value = at(key);
    if (!value.is_number()) fail(key, "expected a number" + found(value));
    return value.get<double>();
}

bool JsonObject::boolean(std::string_view key) const {
    const Json& value = at(key);
    if (!value.is_boolean()) fail(key, "expected true or false" + found(value));
    return value.get<bool>();
}

std::vector<std::string> JsonObject::texts(std::string_view key) const {
    std::vector<std::string> result;
    for (const Json& value : array(key)) {
        if (!value.is_string()) {
            fail(std::string(key) + "/" + std::to_string(result.size()),
                 "expected a string" + found(value));
        }
        result.push_back(value.get<std::string>());
    }
    return result;
}

std::vector<JsonObject> JsonObject::objects(std::string_view key) const {
    std::vector<JsonObject> result;
    const std::string prefix = path_ + "/" + std::string(key) + "/";
    for (const Json& value : array(key)) {
        result.emplace_back(value, prefix + std::to_string(result.size()));
    }
    return result;
}

JsonObject JsonObject::object(std::string_view key) const {
    return JsonObject(at(key), path_ + "/" + std::string(key));
}

std::string JsonObject::text_or(std::string_view key, std::string otherwise) const {
    return has(key) ? text(key) : std::move(otherwise);
}

bool JsonObject::boolean_or(std::string_view key, bool otherwise) const {
    return has(key) ? boolean(key) : otherwise;
}

std::optional<double> JsonObject::optional_number(std::string_view key) const {
    return has(key) ? std::optional(number(key)) : std::nullopt;
}

void JsonObject::fail(const std::string& what) const {
    throw JsonError(element() + ": " + what);
}

void JsonObject::fail(std::string_view key, const std::string& what) const {
    throw JsonError(path_ + "/" + std::string(key) + ": " + what);
}

const Json& JsonObject::at(std::string_view key) const {
    const auto position = value_.find(key);
    if (position == value_.end()) fail("the key " + in_quotes(key) + " is missing");
    return *position;
}

const Json& JsonObject::array(std::string_view key) const {
    const Json& value = at(key);
    if (!value.is_array()) fail(key, "expected an array" + found(value));
    return value;
}

std::string JsonObject::element() const {
    const auto word = [this](std::string_view key) {
        const auto position = value_.is_object() ? value_.find(key) : value_.end();
        const bool text = position != value_.end() && position->is_string();
        return text ? position->get<std::string>() : std::string();
    };
    const std::string place = path_.empty() ? "top level" : path_;
    if (const auto id = word("id"); !id.empty()) return place + " (" + in_quotes(id) + ")";
    const auto source = word("src");
    if (source.empty()) return place;
    return place + " (" + in_quotes(source) + " -> " + in_quotes(word("dst")) + ")";
}

}  // namespace rondo
