// How each pair of GPUs is connected, in the words of `nvidia-smi topo -m`.
#pragma once

#include <string>
#include <vector>

#include "topology/graph/topology.hpp"

namespace rondo::tool {

/// Rows and columns are GPUs. NV4: four NVLinks, also through NVSwitches; XGMI2 and MEM alike;
/// PIX: one PCI switch; PXB: several; PHB: a CPU's root; SYS: from socket to socket; NET: network;
/// "-": not at all; "X": itself. Where several hold, the first in this order.
std::vector<std::vector<std::string>> connections(const Topology& topology);

}  // namespace rondo::tool
