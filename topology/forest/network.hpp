// The part of a topology that a request may use, as a small undirected graph with integer
// capacities.
#pragma once

#include <string>
#include <vector>

#include "topology/forest/forest.hpp"
#include "topology/forest/rational.hpp"
#include "topology/graph/topology.hpp"

namespace rondo::forest {

/// Integer capacities and weights. Bandwidths are below 2^47 bytes per second, so 80 bits are left
/// for denominators, sums and products.
using Units = __int128;

inline Rational to_rational(Units value) {
    return Rational(boost::multiprecision::cpp_int(value));
}

Units greatest_common_divisor(Units a, Units b);

/// One cable: the same capacity in each of its two directions.
struct Edge {
    int a = 0;
    int b = 0;
    Units capacity = 0;

    int other(int vertex) const { return vertex == a ? b : a; }
};

/// One edge of a path, walked from a to b when `forward`.
struct Step {
    int edge = 0;
    bool forward = true;

    bool operator==(const Step&) const = default;
    auto operator<=>(const Step&) const = default;
};

using Path = std::vector<Step>;

/// Vertices 0 .. terminals-1 are the GPUs of the request, in its order; the others only relay.
struct Network {
    int terminals = 0;
    int vertices = 0;
    std::vector<Edge> edges;

    int tail(Step step) const { return step.forward ? edges[step.edge].a : edges[step.edge].b; }
    int head(Step step) const { return step.forward ? edges[step.edge].b : edges[step.edge].a; }
    std::vector<std::vector<int>> incident_edges() const;
};

/// A physical link and the part of its bundle's traffic that it carries.
struct LinkShare {
    int link = 0;
    Rational share;
};

/// The network as the topology has it, and the way back to the topology's nodes and links.
struct PhysicalNetwork {
    Network network;
    std::vector<int> node_of;                      ///< per vertex: index into Topology::nodes()
    std::vector<std::vector<LinkShare>> forward;   ///< per edge: the links from a to b
    std::vector<std::vector<LinkShare>> backward;  ///< per edge: the links from b to a
    bool symmetric = true;  ///< false: some link is slower in one direction, or has only one
};

/// The GPUs of the request: all of them when it names none. Throws ForestError for a GPU that does
/// not exist or is named twice.
std::vector<int> allocated_gpus(const Topology& topology, const ForestRequest& request);

/// Throws ForestError that lists the parts when the GPUs are not joined by the links allowed.
PhysicalNetwork make_network(const Topology& topology, const ForestRequest& request);

}  // namespace rondo::forest
