// NCCL's topology file (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE) and RCCL's, as a topology and back.
// docs/topology-schema.md tells what becomes of each element.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/graph/topology.hpp"

namespace rondo {

/// Builds the graph that NCCL would build, with its model of the bandwidths and the nominal ones.
/// Throws TopologyError with the line and the element that is wrong.
Topology topology_from_nccl_xml(std::string_view text);

/// A file and what of the topology it could not take in.
struct NcclXml {
    std::string text;
    std::vector<std::string> left_out;  ///< one sentence per node or link; empty: nothing is lost
};

/// Writes a file that NCCL accepts (RCCL, if there are XGMI links). Where nothing is left out,
/// reading the file gives the same nodes and links; description and sources are not in it. Throws
/// TopologyError if NCCL's limits forbid the file: 256 elements, 640 children, 253 bytes per value.
NcclXml export_nccl_xml(const Topology& topology);

/// The text of export_nccl_xml().
std::string topology_to_nccl_xml(const Topology& topology);

}  // namespace rondo
