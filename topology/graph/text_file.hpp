// Reads a whole topology file, with a bound on its size.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace rondo {

/// No topology file or text may be larger: the same as for JSON.
inline constexpr std::size_t largest_topology_text = std::size_t{16} << 20;

/// Throws TopologyError if the file cannot be read or is larger than largest_topology_text. Pipes
/// and devices work too and are read no further than the bound.
std::string read_text_file(const std::filesystem::path& path);

}  // namespace rondo
