// load_topology() for callers that can read more than JSON.
#pragma once

#include <string_view>

#include "topology/graph/topology.hpp"

namespace rondo {

/// Makes a topology of the text of a file. Throws TopologyError.
using TopologyReader = Topology (*)(std::string_view text);

/// Like load_topology(specification), with `reader` for files.
Topology load_topology(std::string_view specification, TopologyReader reader);

}  // namespace rondo
