// Topologies from every kind of file that we read, told apart by what is in it.
#pragma once

#include <string_view>

#include "topology/graph/topology.hpp"

namespace rondo {

/// NCCL's XML if the text begins with '<' (after white space), else our JSON. Throws TopologyError.
Topology topology_from_any_text(std::string_view text);

/// Like load_topology(), but the file may be JSON or NCCL's XML.
Topology load_any_topology(std::string_view specification);

}  // namespace rondo
