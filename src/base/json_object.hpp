// A strict view of one JSON object: every access is typed, every message carries the path.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/error.hpp"

namespace rondo {

using Json = nlohmann::ordered_json;

/// A text is no JSON, or an object has not what it should have. Who reads it says of what.
class JsonError : public InvalidArgument {
public:
    using InvalidArgument::InvalidArgument;
};

/// No text may be larger; the topology of a DGX-1 takes 8 KiB.
inline constexpr std::size_t largest_json_text = std::size_t{16} << 20;

/// Parses `text` with bounds on size and depth, refusing repeated keys. Throws JsonError with line
/// and column.
Json parse_strict_json(std::string_view text);

/// Does not own the value. All functions throw JsonError.
class JsonObject {
public:
    /// `path` is like "/links/3"; the empty path is the whole text.
    JsonObject(const Json& value, std::string path);

    const std::string& path() const { return path_; }
    bool has(std::string_view key) const { return value_.contains(key); }

    /// Refuses keys that are not listed.
    void allow_only(const std::vector<std::string_view>& keys) const;

    std::string text(std::string_view key) const;
    std::int64_t integer(std::string_view key) const;
    int small_integer(std::string_view key) const;  ///< one that fits an int
    double number(std::string_view key) const;
    bool boolean(std::string_view key) const;
    std::vector<std::string> texts(std::string_view key) const;
    std::vector<std::int64_t> integers(std::string_view key) const;
    std::vector<JsonObject> objects(std::string_view key) const;
    JsonObject object(std::string_view key) const;

    std::string text_or(std::string_view key, std::string otherwise) const;
    bool boolean_or(std::string_view key, bool otherwise) const;
    std::optional<double> optional_number(std::string_view key) const;

    [[noreturn]] void fail(const std::string& what) const;
    [[noreturn]] void fail(std::string_view key, const std::string& what) const;

private:
    const Json& at(std::string_view key) const;
    const Json& array(std::string_view key) const;
    std::int64_t whole_number(const std::string& key, const Json& value) const;
    /// "/links/3" or, when the object has an id or endpoints, "/links/3 (gpu0 -> gpu1)".
    std::string element() const;

    const Json& value_;
    std::string path_;
};

}  // namespace rondo
