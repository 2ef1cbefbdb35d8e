// Small files of the kernel: one word or number each, absent more often than not.
#include "topology/detect/sysfs_files.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>

#include "topology/graph/validate.hpp"

namespace rondo::detection {
namespace {

constexpr std::size_t longest_line = 4096;
constexpr std::size_t longest_text = std::size_t{1} << 20;

std::string read(const std::filesystem::path& file, std::size_t most) {
    std::ifstream in(file, std::ios::binary);
    std::string text(most, '\0');
    in.read(text.data(), static_cast<std::streamsize>(most));
    text.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
    return text;
}

}  // namespace

std::string first_line(const std::filesystem::path& file) {
    std::string text = read(file, longest_line);
    text.resize(std::min(text.size(), text.find('\n')));
    const auto begin = text.find_first_not_of(" \t\r");
    if (begin == std::string::npos) return "";
    text = text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
    return is_printable(text) && text.size() <= TopologyLimits::text ? text : "";
}

std::string whole_text(const std::filesystem::path& file) {
    return read(file, longest_text);
}

std::optional<int> leading_number(std::string_view text) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end == text.data()) return std::nullopt;
    return value;
}

std::optional<int> number_in(const std::filesystem::path& file) {
    return leading_number(first_line(file));
}

std::vector<std::string> names_in(const std::filesystem::path& folder) {
    std::vector<std::string> names;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
        names.push_back(entry->path().filename().string());
    }
    std::ranges::sort(names);
    return names;
}

}  // namespace rondo::detection
