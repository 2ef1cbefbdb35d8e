// From the words of the command line to a forest request.
#include "topology/tool/request.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "topology/graph/names.hpp"
#include "topology/graph/validate.hpp"

namespace rondo::tool {
namespace {

std::optional<int> number(std::string_view text) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || text.empty()) return {};
    if (value < 0 || value >= TopologyLimits::gpus || text.front() == '-') return {};
    return value;
}

void add_part(std::string_view part, std::vector<int>& gpus) {
    const std::size_t dash = part.find('-');
    const auto first = number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number(part.substr(dash + 1));
    if (!first || !last || *last < *first) {
        throw UsageError(fmt::format(
            "--gpus: {} is not a GPU; write numbers and ranges like 0,1,4-7", in_quotes(part)));
    }
    for (int gpu = *first; gpu <= *last; ++gpu) gpus.push_back(gpu);
}

}  // namespace

std::vector<int> parse_gpus(std::string_view text) {
    std::vector<int> gpus;
    while (true) {
        const std::size_t comma = text.find(',');
        add_part(text.substr(0, comma), gpus);
        if (comma == std::string_view::npos) return gpus;
        text.remove_prefix(comma + 1);
    }
}

std::uint64_t parse_bytes(std::string_view text) {
    const auto fail = [&] {
        throw UsageError(fmt::format(
            "--bytes: {} is not a size; write 1000, 64K, 256M, 1GiB; 1T at most", in_quotes(text)));
    };
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    std::string_view unit(rest, static_cast<std::size_t>(end - rest));
    if (error != std::errc() || !(value >= 0)) fail();
    if (unit.ends_with("iB")) {
        unit.remove_suffix(2);
        if (unit.empty()) fail();
    }
    double factor = 1;
    if (!unit.empty()) {
        const std::size_t place = std::string_view("KkMmGgTt").find(unit.front());
        if (unit.size() != 1 || place == std::string_view::npos) fail();
        for (std::size_t i = 0; i <= place / 2; ++i) factor *= 1024;
    }
    const double bytes = value * factor;
    if (bytes < 1 || bytes > 1024.0 * 1024 * 1024 * 1024) fail();
    return static_cast<std::uint64_t>(bytes);
}

std::string bytes_text(std::uint64_t bytes) {
    constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    double value = static_cast<double>(bytes);
    for (; value >= 1024 && unit < 4; value /= 1024) ++unit;
    return fmt::format("{:.4g} {}", value, units[unit]);
}

LinkFilter parse_links(std::string_view text) {
    if (text == "all") return LinkFilter::all;
    if (text == "nvlink") return LinkFilter::nvlink;
    throw UsageError(fmt::format("--links: {} is unknown; it is nvlink or all", in_quotes(text)));
}

BandwidthModel parse_model(std::string_view text) {
    if (text == "nccl") return BandwidthModel::nccl;
    if (text == "nominal") return BandwidthModel::nominal;
    throw UsageError(fmt::format("--model: {} is unknown; it is nccl or nominal", in_quotes(text)));
}

ForestRequest request_of(const BoundOptions& options) {
    ForestRequest request{.model = parse_model(options.model),
                          .links = parse_links(options.links),
                          .helpers = options.helpers};
    if (!options.gpus.empty()) request.gpus = parse_gpus(options.gpus);
    return request;
}

std::string_view name_of(ForestCollective collective) {
    switch (collective) {
        case ForestCollective::all_reduce:
            return "all_reduce";
        case ForestCollective::broadcast:
            return "broadcast";
        case ForestCollective::reduce:
            return "reduce";
        case ForestCollective::all_gather:
            return "all_gather";
        case ForestCollective::reduce_scatter:
            return "reduce_scatter";
    }
    return "?";
}

double bus_factor(ForestCollective collective, int gpus) {
    const double others = static_cast<double>(gpus - 1) / gpus;
    if (collective == ForestCollective::all_reduce) return 2 * others;
    const bool one_root =
        collective == ForestCollective::broadcast || collective == ForestCollective::reduce;
    return one_root ? 1 : others;
}

}  // namespace rondo::tool
