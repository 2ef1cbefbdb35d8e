// Sizes as people write them on a command line and read them in a table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rondo::bench {

/// "32M" is 32 MiB, "1.5k", "8", "2G"; as in nccl-tests, a trailing B is allowed. Throws
/// InvalidArgument that names the text.
std::uint64_t parse_bytes(std::string_view text);

/// "8 B", "64 KiB", "1.5 MiB"
std::string bytes_text(double bytes);

struct SizeRange {
    std::uint64_t first = 32u << 20;
    std::uint64_t last = 32u << 20;
    std::uint64_t step_bytes = 1u << 20;
    std::uint64_t step_factor = 1;  ///< above 1 it wins over step_bytes
};

/// From the first to the last, both included where the steps meet it. Throws InvalidArgument when
/// there are none, or more than a million.
std::vector<std::uint64_t> sizes_of(const SizeRange& range);

}  // namespace rondo::bench
