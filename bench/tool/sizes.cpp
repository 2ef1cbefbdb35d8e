// Sizes as people write them on a command line and read them in a table.
#include "bench/tool/sizes.hpp"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>

#include "rondo/error.hpp"

namespace rondo::bench {
namespace {

[[noreturn]] void refuse_size(std::string_view text) {
    throw InvalidArgument(fmt::format(
        "'{}' is no size; write a number of bytes, or with K, M or G: 64K, 1.5M", text));
}

int power_of_unit(char unit) {
    switch (std::tolower(static_cast<unsigned char>(unit))) {
        case 'k':
            return 10;
        case 'm':
            return 20;
        case 'g':
            return 30;
        default:
            return -1;
    }
}

}  // namespace

std::uint64_t parse_bytes(std::string_view text) {
    double number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
    if (error != std::errc() || number < 0 || !std::isfinite(number)) refuse_size(text);
    std::string_view unit(rest, static_cast<std::size_t>(end - rest));
    if (unit.ends_with('B') || unit.ends_with('b')) unit.remove_suffix(1);
    if (unit.ends_with('i')) unit.remove_suffix(1);
    int power = 0;
    if (!unit.empty()) {
        power = unit.size() == 1 ? power_of_unit(unit[0]) : -1;
        if (power < 0) refuse_size(text);
    }
    const double bytes = std::ldexp(number, power);
    if (bytes > std::ldexp(1.0, 53)) refuse_size(text);
    return static_cast<std::uint64_t>(bytes);
}

std::string bytes_text(double bytes) {
    constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    while (bytes >= 1024 && unit < 4) {
        bytes /= 1024;
        ++unit;
    }
    return fmt::format("{:.4g} {}", bytes, units[unit]);
}

std::vector<std::uint64_t> sizes_of(const SizeRange& range) {
    if (range.first > range.last) {
        throw InvalidArgument(fmt::format("the smallest size ({}) is above the largest ({})",
                                          range.first, range.last));
    }
    constexpr std::size_t most = 1'000'000;
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t size = range.first; size <= range.last;) {
        if (sizes.size() == most) throw InvalidArgument("these are more than a million sizes");
        sizes.push_back(size);
        const std::uint64_t next =
            range.step_factor > 1 ? size * range.step_factor : size + range.step_bytes;
        if (next <= size) break;  // a factor of 0 bytes, a step of 0
        size = next;
    }
    return sizes;
}

}  // namespace rondo::bench
