// The second half of reading NCCL's file: every link, between nodes that have their places.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "topology/graph/topology.hpp"
#include "topology/xml/import_tree.hpp"

namespace rondo {

/// A graph in the making. `place` gives the node index of every tree node, or -1.
struct GraphParts {
    std::vector<Node> nodes;
    std::vector<Link> links;
    std::vector<int> place;
    std::vector<int> gpus;                  ///< tree indices, in the order of the devices
    std::map<std::string, int> nvswitches;  ///< node index by id
};

/// NVSwitches, as far as nvlink elements lead to some: one, unless our attribute tells them apart.
/// They get the host of the first GPU that is linked to them.
void add_nvswitches(const Tree& tree, GraphParts& graph);

/// In this order: NVLink and XGMI, C2C, the PCI tree with the ports, links between PCI switches,
/// CPU to CPU; each sorted by source and target. Links of one kind between two nodes are added up,
/// as NCCL does.
void add_links(const Tree& tree, GraphParts& graph);

}  // namespace rondo
