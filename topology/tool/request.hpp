// From the words of the command line to a forest request.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "topology/forest/forest.hpp"
#include "topology/tool/commands.hpp"

namespace rondo::tool {

/// "0,1,4-7". Throws UsageError that names the part that is no number or range.
std::vector<int> parse_gpus(std::string_view text);

/// "64K", "256M", "1.5G", "1000": K, M and G are powers of 1024. Throws UsageError that names it.
std::uint64_t parse_bytes(std::string_view text);
/// "256 MiB", "1000 bytes"
std::string bytes_text(std::uint64_t bytes);

/// Throws UsageError that names the value.
LinkFilter parse_links(std::string_view text);
BandwidthModel parse_model(std::string_view text);

ForestRequest request_of(const BoundOptions& options);

std::string_view name_of(ForestCollective collective);

/// How busbw is computed from algbw: what the links carry per byte of result, as nccl-tests has it.
double bus_factor(ForestCollective collective, int gpus);

}  // namespace rondo::tool
