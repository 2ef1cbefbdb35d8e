// What tree packing works on: capacities and root weights that are still free, and the trees found.
#pragma once

#include <vector>

#include "topology/forest/network.hpp"

namespace rondo::forest {

/// A hop of a tree between two terminals, and its way through the relays.
struct PackedEdge {
    int parent = 0;
    int child = 0;
    Path path = {};

    bool operator==(const PackedEdge&) const = default;
    auto operator<=>(const PackedEdge&) const = default;
};

struct PackedTree {
    int root = 0;
    std::vector<PackedEdge> edges = {};  ///< an edge comes after the one that reaches its parent

    bool operator==(const PackedTree&) const = default;
    auto operator<=>(const PackedTree&) const = default;
};

int depth_of(const PackedTree& tree, int terminals);

template <class Weight>
struct Weighted {
    PackedTree tree;
    Weight weight = 0;
};

/// What is to be packed, in integers. Rooted: each direction of an edge has its own capacity, and
/// the trees rooted at a terminal add up to its weight. Free: both directions of an edge share one
/// capacity (a tree uses an edge in both), and only the total counts.
struct Packing {
    const Network* network = nullptr;
    bool rooted = true;
    std::vector<Units> capacity = {};  ///< per slot: rooted 2 * edge + direction, free one per edge
    std::vector<Units> roots = {};     ///< per terminal; empty unless rooted
    Units total = 0;                   ///< the weight of all trees together

    int slot(Step step) const {
        return rooted ? 2 * step.edge + (step.forward ? 0 : 1) : step.edge;
    }
    /// How often the tree uses each slot.
    std::vector<int> loads(const PackedTree& tree) const;
    /// Removes a tree from a rooted packing.
    void take(const PackedTree& tree, Units weight);
};

/// A packing and what its integers mean: `unit` of them are one byte per second.
struct ScaledPacking {
    Packing packing;
    Rational unit = 1;
};

}  // namespace rondo::forest
