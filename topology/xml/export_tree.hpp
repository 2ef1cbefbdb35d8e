// The first half of writing NCCL's file: which node goes below which, as the format is a tree.
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "topology/graph/topology.hpp"

namespace rondo {

/// Finds links by their ends.
class LinkFinder {
public:
    explicit LinkFinder(const std::vector<Link>& links);
    std::optional<std::size_t> find(int source, int target, LinkKind kind) const;

private:
    std::map<std::tuple<int, int, LinkKind>, std::size_t> index_;
};

/// A cpu element: a CPU of the topology, or one made up because the format needs it.
struct ExportRoot {
    std::optional<int> cpu;
    int host = 0;
    std::vector<int> children = {};
};

struct ExportTree {
    std::vector<ExportRoot> roots;
    std::vector<std::vector<int>> children;  ///< of every node, in node order: switches first
    std::vector<int> root;                   ///< of every node, index into roots, or -1
    std::vector<int> parent;                 ///< a node, or -1

    bool holds(int node) const { return root[static_cast<std::size_t>(node)] >= 0; }
};

/// Follows the PCI links from the CPUs down. Of a cycle the links that come last are left out of
/// the tree. GPUs, PCI switches and NICs without a way to a CPU go below the first one of their
/// host; ports go below their NIC. NVSwitches and other switches without PCI links stay outside.
ExportTree build_export_tree(const Topology& topology);

/// For every node: whether it is a switch that a GPU has an NVLink to.
std::vector<bool> find_nvswitches(const Topology& topology);

}  // namespace rondo
