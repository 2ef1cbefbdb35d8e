// Compares two topologies by the ids of their nodes, in words.
#pragma once

#include <string>
#include <vector>

#include "topology/graph/topology.hpp"

namespace rondo {

/// One sentence for every node or link of `original` that `copy` lacks, has differently or has in
/// addition, and for GPUs that changed their numbers. Description and sources do not count.
std::vector<std::string> find_losses(const Topology& original, const Topology& copy);

}  // namespace rondo
