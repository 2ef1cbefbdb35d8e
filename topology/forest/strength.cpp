// How many spanning trees fit into a network without relays (Tutte, Nash-Williams), by minimum
// cuts.
#include "topology/forest/strength.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace rondo::forest {
namespace {

Partition renumbered(const std::vector<int>& labels) {
    Partition partition;
    std::map<int, int> number;
    for (const int label : labels) {
        const auto [entry, fresh] = number.emplace(label, partition.parts);
        if (fresh) ++partition.parts;
        partition.part_of.push_back(entry->second);
    }
    return partition;
}

Units capacity_between(const Network& network, const Partition& partition) {
    Units total = 0;
    for (const Edge& edge : network.edges) {
        if (partition.part_of[edge.a] != partition.part_of[edge.b]) total += edge.capacity;
    }
    return total;
}

}  // namespace

PartitionOracle::PartitionOracle(const Network& network)
    : network_(network), flow_(network.vertices + 2), part_of_(network.vertices) {
    for (const Edge& edge : network.edges) {
        capacity_.push_back(edge.capacity);
        edge_arcs_.push_back(flow_.add_arc(edge.a, edge.b));
    }
    for (int vertex = 0; vertex < network.vertices; ++vertex) {
        sink_arcs_.push_back(flow_.add_arc(vertex, network.vertices));
        source_arcs_.push_back(flow_.add_arc(network.vertices + 1, vertex));
    }
}

void PartitionOracle::set_edge(int edge, Units capacity) {
    capacity_[edge] = capacity;
}

/// Adds a vertex to the partition of those before it: the set S of placed vertices around it that
/// minimises the sum of their prices - capacity inside S becomes one part. Returns that minimum.
Units PartitionOracle::place(int vertex, Units trees) {
    const int sink = network_.vertices;
    const int source = sink + 1;
    std::vector<Units>& degree = degree_;
    for (std::size_t edge = 0; edge < capacity_.size(); ++edge) {
        const auto [a, b, unused] = network_.edges[edge];
        if (std::max(a, b) != vertex) continue;
        degree[a] += capacity_[edge];
        degree[b] += capacity_[edge];
        flow_.set(edge_arcs_[edge], capacity_[edge], capacity_[edge]);
    }
    Units inside = 0;  // twice the objective of {vertex} and all that gain by joining it
    Units enough = 1;
    for (int other = 0; other < vertex; ++other) {
        const Units weight = 2 * price_[other] - degree[other];
        flow_.set(sink_arcs_[other], std::max<Units>(weight, 0));
        flow_.set(source_arcs_[other], std::max<Units>(-weight, 0));
        inside += std::min<Units>(weight, 0);
        enough += std::max<Units>(weight, 0);
    }
    flow_.set(sink_arcs_[vertex], 0);
    flow_.set(source_arcs_[vertex], enough + degree[vertex]);
    const Units cut = flow_.run(source, sink, enough);
    const Units minimum = (cut + inside - degree[vertex]) / 2;
    price_.push_back(trees - minimum);
    merge_parts(vertex);
    return minimum;
}

void PartitionOracle::merge_parts(int vertex) {
    part_of_[vertex] = vertex;
    for (int other = 0; other < vertex; ++other) {
        const int part = part_of_[other];
        if (!flow_.on_source_side(other) || part == vertex) continue;
        std::replace(part_of_.begin(), part_of_.begin() + vertex, part, vertex);
    }
}

PartitionOracle::Hardest PartitionOracle::hardest(Units trees) {
    price_.clear();
    degree_.assign(network_.vertices, 0);
    for (std::size_t edge = 0; edge < capacity_.size(); ++edge) flow_.set(edge_arcs_[edge], 0, 0);
    for (int vertex = 0; vertex < network_.vertices; ++vertex) {
        flow_.set(sink_arcs_[vertex], 0);
        flow_.set(source_arcs_[vertex], 0);
    }
    Units slack = std::accumulate(capacity_.begin(), capacity_.end(), trees);
    for (int vertex = 0; vertex < network_.vertices; ++vertex)
        slack += place(vertex, trees) - trees;
    return {slack, renumbered(part_of_)};
}

Strength strength(const Network& network) {
    std::vector<int> alone(network.vertices);
    std::iota(alone.begin(), alone.end(), 0);
    Partition partition = renumbered(alone);
    PartitionOracle oracle(network);
    while (true) {
        const Ratio trees = Ratio::of(capacity_between(network, partition), partition.parts - 1);
        for (std::size_t edge = 0; edge < network.edges.size(); ++edge) {
            oracle.set_edge(static_cast<int>(edge),
                            network.edges[edge].capacity * trees.denominator);
        }
        PartitionOracle::Hardest next = oracle.hardest(trees.numerator);
        if (next.slack >= 0) return {trees, std::move(partition)};
        partition = std::move(next.partition);
    }
}

}  // namespace rondo::forest
