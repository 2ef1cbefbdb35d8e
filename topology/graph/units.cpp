// Units of the files against units of the value.
#include "topology/graph/units.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace rondo {
namespace {

constexpr double bytes_per_gigabyte = 1e9;
constexpr double bytes_per_gibibyte = 1073741824.0;
constexpr double largest_exact = 9007199254740992.0;  // 2^53

}  // namespace

std::optional<std::int64_t> bytes_per_second(double gigabytes_per_second) {
    const double bytes = std::round(gigabytes_per_second * bytes_per_gigabyte);
    if (!(std::abs(bytes) <= largest_exact)) return std::nullopt;
    return static_cast<std::int64_t>(bytes);
}

double gigabytes_per_second(std::int64_t bytes_per_second) {
    return static_cast<double>(bytes_per_second) / bytes_per_gigabyte;
}

std::optional<std::uint64_t> bytes_of_gibibytes(double gibibytes) {
    const double bytes = std::round(gibibytes * bytes_per_gibibyte);
    if (!(bytes >= 0 && bytes <= largest_exact)) return std::nullopt;
    return static_cast<std::uint64_t>(bytes);
}

double gibibytes(std::uint64_t bytes) {
    return static_cast<double>(bytes) / bytes_per_gibibyte;
}

std::string shortest(double value) {
    std::array<char, 32> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    return {text.data(), end};
}

}  // namespace rondo
