// The first half of reading NCCL's file: the tree of CPUs, PCI switches, GPUs, NICs and ports.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "topology/graph/topology.hpp"
#include "topology/xml/element.hpp"
#include "topology/xml/extension.hpp"

namespace rondo {

struct TreeNode {
    Node node;           ///< without an id
    XmlElement element;  ///< cpu, pci, nic (one without PCI device) or net
    int parent = -1;     ///< index in the tree; none for a CPU
    std::vector<int> children = {};
    LinkPair up = {};      ///< to the parent and back
    bool implied = false;  ///< it is only there because NCCL needs it
    int folded_into = -1;  ///< the crossbar that this switch is a part of
    std::optional<XmlElement> gpu = {};
    RankInfo rank = {};  ///< of a GPU
};

/// The rank of GPUs in a file without ranks.
inline constexpr int no_rank = -1;

/// A bus id in a machine.
using PciAddress = std::pair<int, std::string>;

struct Tree {
    std::vector<TreeNode> nodes;  ///< parents before children
    std::vector<int> roots;       ///< the CPUs
    std::map<PciAddress, int> by_address;
};

/// Follows NCCL: a pci with a gpu is a GPU (skipped without a rank, unless no gpu of the file has
/// one), with a nic a NIC, else a switch if its class says so; nets without dev or with net="0" and
/// unknown elements are ignored; the two levels of a Broadcom switch become one.
Tree read_tree(const XmlElement& system);

}  // namespace rondo
