// How many spanning trees fit into a network without relays (Tutte, Nash-Williams), by minimum
// cuts.
#pragma once

#include <vector>

#include "topology/forest/fixed_roots.hpp"
#include "topology/forest/max_flow.hpp"
#include "topology/forest/network.hpp"

namespace rondo::forest {

/// The parts of a partition: a number per vertex, 0 .. parts-1.
struct Partition {
    int parts = 0;
    std::vector<int> part_of;
};

/// Finds the partition that is hardest to join: the one that minimises capacity(between its parts)
/// - trees * (parts - 1). Trees of that total weight fit exactly when this is not negative. One
/// minimum cut per vertex (Dilworth truncation; Cunningham 1985, Barahona 1992).
class PartitionOracle {
public:
    explicit PartitionOracle(const Network& network);

    void set_edge(int edge, Units capacity);
    struct Hardest {
        Units slack = 0;
        Partition partition;
    };
    Hardest hardest(Units trees);

private:
    Units place(int vertex, Units trees);
    void merge_parts(int vertex);

    const Network& network_;
    MaxFlow flow_;
    std::vector<Units> capacity_;
    std::vector<int> edge_arcs_;
    std::vector<int> sink_arcs_;    ///< per vertex: to the sink
    std::vector<int> source_arcs_;  ///< per pair (source, vertex), laid out in rows
    std::vector<Units> price_;
    std::vector<Units> degree_;
    std::vector<int> part_of_;
};

struct Strength {
    Ratio trees;  ///< the total weight of the spanning trees that fit
    Partition partition;
};

/// min over partitions of capacity between the parts / (parts - 1). The network has no relays and
/// is connected.
Strength strength(const Network& network);

}  // namespace rondo::forest
