// What every topology must satisfy, whatever it was read from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "topology/graph/topology.hpp"

namespace rondo {

/// Bounds that keep arithmetic exact (all bandwidths at a node can be added in 64 bits) and hostile
/// files harmless.
struct TopologyLimits {
    static constexpr int gpus = 1024;
    static constexpr std::size_t nodes = 16'384;
    static constexpr std::size_t links = std::size_t{1} << 20;
    static constexpr std::size_t text =
        253;  ///< bytes in an id or a detail; NCCL's XML has no more
    static constexpr int hosts = 4096;
    static constexpr int count = 65'536;
    static constexpr std::int64_t bandwidth = 100'000'000'000'000;  ///< bytes per second
    static constexpr double latency_us = 1e9;
    static constexpr std::uint64_t memory_bytes = std::uint64_t{1} << 50;
};

/// Throws TopologyError naming the first element that is wrong: duplicate or empty ids, no GPU,
/// details on nodes of another type, texts that are long, unprintable or not UTF-8, bus ids that
/// are malformed or repeated in one host; links with unknown endpoints, from a node to itself,
/// repeated, or with a count, bandwidth or latency out of range.
void validate(const std::vector<Node>& nodes, const std::vector<Link>& links);

/// Valid UTF-8 without control characters.
bool is_printable(std::string_view text);

/// "0000:06:00.0": domain (four to eight digits), bus, device and function in hexadecimal.
bool is_bus_id(std::string_view text);

}  // namespace rondo
