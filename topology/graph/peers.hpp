// Which GPUs can map each other's memory, found from the wiring alone.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/graph/topology.hpp"

namespace rondo {

/// Bits of one cell of the matrix.
enum PeerBits : std::uint8_t { peer_by_fabric = 1, peer_by_pci = 2 };

/// Row-major matrix over `gpus` (node indices). A bit is set where there is a way there and a way
/// back: by fabric = links of one kind among NVLink, XGMI and memory, through switches only; by PCI
/// = PCI links through switches and at most one CPU (the root).
/// Cost: a search from every GPU, which looks at each link at most once per kind.
std::vector<std::uint8_t> find_peers(const std::vector<Node>& nodes, const std::vector<Link>& links,
                                     const std::vector<int>& gpus);

}  // namespace rondo
