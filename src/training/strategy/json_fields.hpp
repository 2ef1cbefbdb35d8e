// A strict reader of JSON objects: every access is typed, every message carries the path, and what
// nobody asked for is refused.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace rondo::training {

using OrderedJson = nlohmann::ordered_json;

/// Refuses what is too long (16 MiB) or too deep (64), and repeated keys. Throws InvalidArgument.
OrderedJson parse_bounded_json(std::string_view text);

/// One object of a text. Does not own the value. Everything throws InvalidArgument.
class JsonFields {
public:
    /// `path` is like "/partitions/3"; the empty path is the whole text.
    JsonFields(const OrderedJson& value, std::string path);

    const std::string& path() const { return path_; }
    bool has(std::string_view key);

    std::string text(std::string_view key);
    std::string text_or(std::string_view key, std::string otherwise);
    double number(std::string_view key);
    double number_or(std::string_view key, double otherwise);
    bool boolean_or(std::string_view key, bool otherwise);
    std::uint64_t unsigned_number(std::string_view key);
    std::uint64_t unsigned_or(std::string_view key, std::uint64_t otherwise);
    std::uint32_t small_number(std::string_view key);
    std::uint32_t small_or(std::string_view key, std::uint32_t otherwise);
    std::vector<std::string> texts(std::string_view key);
    std::vector<double> numbers(std::string_view key);
    JsonFields object(std::string_view key);
    std::vector<JsonFields> objects(std::string_view key);
    const OrderedJson& any(std::string_view key);

    /// Refuses fields that were not asked for.
    void finish() const;
    [[noreturn]] void fail(std::string_view key, const std::string& what) const;

private:
    const OrderedJson& at(std::string_view key);
    const OrderedJson& array(std::string_view key);

    const OrderedJson* value_;
    std::string path_;
    std::set<std::string, std::less<>> known_;
};

}  // namespace rondo::training
