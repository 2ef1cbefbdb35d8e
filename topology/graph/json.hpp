// The JSON form of a topology: the one schema, described in docs/topology-schema.md.
#pragma once

#include <string>
#include <string_view>

#include "topology/graph/topology.hpp"

namespace rondo {

/// Reads schema 1 or 2. Throws TopologyError that says where: line and column for syntax, a path
/// like /links/3/GBps for contents, the node or link for values that make no sense. Keys that the
/// schema does not know are errors.
Topology topology_from_json(std::string_view text);

/// Writes schema 2; reading it back gives an equal value. Throws TopologyError if a text in the
/// topology is not UTF-8.
std::string topology_to_json(const Topology& topology);

}  // namespace rondo
