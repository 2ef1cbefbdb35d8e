// Small files of the kernel: one word or number each, absent more often than not.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rondo::detection {

/// The first line without white space at its ends; empty if there is no such file or it is not
/// printable. At most 4 KiB are read.
std::string first_line(const std::filesystem::path& file);

/// The whole file, up to 1 MiB; empty if there is none.
std::string whole_text(const std::filesystem::path& file);

/// The number that the text begins with.
std::optional<int> leading_number(std::string_view text);
std::optional<int> number_in(const std::filesystem::path& file);

/// Names in a folder, sorted; none if it can't be read.
std::vector<std::string> names_in(const std::filesystem::path& folder);

}  // namespace rondo::detection
