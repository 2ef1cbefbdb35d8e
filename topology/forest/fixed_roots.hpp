// The best throughput when every terminal is the root of a given share of the data.
#pragma once

#include <vector>

#include "topology/forest/max_flow.hpp"
#include "topology/forest/network.hpp"

namespace rondo::forest {

/// A ratio of units, in lowest terms.
struct Ratio {
    Units numerator = 0;
    Units denominator = 1;

    static Ratio of(Units numerator, Units denominator);
    bool operator<(const Ratio& other) const {
        return numerator * other.denominator < other.numerator * denominator;
    }
    Rational value() const { return to_rational(numerator) / to_rational(denominator); }
};

struct FixedRoots {
    Ratio scale;                  ///< terminal v can be the root of scale * demand[v]
    std::vector<bool> sink_side;  ///< per vertex: the set that limits it; its entries are full
};

/// The largest scale such that broadcast trees with root weights scale * demand[v] fit into the
/// network, each direction of an edge offering its whole capacity: min over vertex sets U that hold
/// a terminal of capacity into U / demand outside U, found by discrete Newton steps on minimum
/// cuts. Demands are non-negative and below 2^32; some demand lies outside some terminal.
FixedRoots best_fixed_roots(const Network& network, const std::vector<Units>& demand);

/// The demands, a source that offers them, and the edges: what cuts are looked for in.
class RootedFlow {
public:
    explicit RootedFlow(const Network& network);

    void set_root(int terminal, Units weight) { flow_.set(root_arcs_[terminal], weight); }
    void set_edge(int edge, Units forward, Units backward) {
        flow_.set(edge_arcs_[edge], forward, backward);
    }
    /// Flow from all roots together to a terminal, at most `enough`.
    Units run(int terminal, Units enough) { return flow_.run(source_, terminal, enough); }
    /// After a run() that found less than enough: the smallest set around the terminal whose
    /// entries are full.
    std::vector<bool> sink_side(int terminal) const;

private:
    int source_;
    MaxFlow flow_;
    std::vector<int> root_arcs_;
    std::vector<int> edge_arcs_;
};

}  // namespace rondo::forest
