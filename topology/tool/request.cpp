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
