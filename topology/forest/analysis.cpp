// What is known about a request before trees are built: the network, the best throughput and its
// proof.
#include "topology/forest/analysis.hpp"

#include <algorithm>
#include <numeric>

#include "topology/forest/equal_shares.hpp"
#include "topology/forest/master.hpp"
#include "topology/forest/proof.hpp"
#include "topology/forest/strength.hpp"
#include "topology/forest/tree_program.hpp"

namespace rondo::forest {
namespace {

/// Rounds of the linear program for free roots. Machines take some tens; hostile inputs a few
/// hundred.
constexpr int most_rounds = 5000;

/// Keeps the proof if it is better than what there was.
void prove(Analysis& analysis, const std::vector<Rational>& reduced_prices) {
    const std::vector<Rational> prices = analysis.reduction->lift_prices(reduced_prices);
    const Rational proven = bound_by_prices(analysis.physical.network, prices);
    const Rational& before = analysis.bound.proven;
    if (proven == 0 || (before != 0 && before <= proven)) return;
    analysis.bound.certificate = price_certificate(analysis.physical, prices);
    analysis.bound.proven = proven;
}

/// Every tree crosses the cut that limits equal shares at least once.
std::vector<Rational> cut_prices(const Network& network, const std::vector<bool>& inside) {
    std::vector<Rational> prices;
    for (const Edge& edge : network.edges) {
        prices.push_back(inside[edge.a] != inside[edge.b] ? 1 : 0);
    }
    return prices;
}

void use_fixed_shares(Analysis& analysis, const FixedRoots& best) {
    const std::vector<bool> inside = analysis.reduction->lift_set(best.sink_side);
    analysis.shares = analysis.demand.shares;
    analysis.scale = best.scale;
    analysis.bound.throughput =
        best.scale.value() * to_rational(analysis.demand.whole) / analysis.demand.phases;
    analysis.bound.certificate = cut_certificate(analysis.physical, inside);
    analysis.bound.proven = bound_by_cut(analysis.physical.network, analysis.demand, inside);
}

/// Without relays: the hardest partition tells.
void use_strength(Analysis& analysis) {
    const Strength best = strength(analysis.network());
    std::vector<Rational> prices;
    for (const Edge& edge : analysis.network().edges) {
        const bool joins = best.partition.part_of[edge.a] != best.partition.part_of[edge.b];
        prices.push_back(joins ? 1 : 0);
    }
    analysis.bound.throughput = best.trees.value();
    prove(analysis, prices);
}

/// Equal shares, which may or may not be the best; whatever was proven stays.
void use_equal_shares(Analysis& analysis, const FixedRoots& equal) {
    analysis.shares.assign(analysis.network().terminals, 1);
    analysis.scale = equal.scale;
    analysis.bound.throughput = analysis.bound.equal_shares;
}

void use_program(Analysis& analysis) {
    Packing packing{.network = &analysis.network(), .rooted = false};
    for (const Edge& edge : packing.network->edges) packing.capacity.push_back(edge.capacity);
    packing.total = static_cast<Units>(analysis.bound.equal_shares.convert_to<double>()) + 1;
    TreeProgram program(packing);
    program.run({.depth = packing.network->terminals,
                 .patience = most_rounds,
                 .rounds = most_rounds,
                 .until_total = false});
    const auto trees = program.exact_trees();
    const auto prices = program.exact_prices();
    if (!trees || !prices) {
        analysis.bound.note = "the linear program for free root shares had no exact solution";
        return;
    }
    analysis.trees = *trees;
    analysis.bound.throughput = 0;
    for (const auto& tree : analysis.trees) analysis.bound.throughput += tree.weight;
    prove(analysis, *prices);
}

void use_free_shares(Analysis& analysis, const FixedRoots& equal) {
    if (!analysis.relays()) {
        use_strength(analysis);
        if (analysis.bound.throughput == analysis.bound.equal_shares) {
            use_equal_shares(analysis, equal);
        }
        return;
    }
    prove(analysis, partition_prices(analysis.network(), equal.scale));
    prove(analysis, cut_prices(analysis.network(), equal.sink_side));
    use_equal_shares(analysis, equal);
    if (analysis.bound.exact()) return;
    if (!Master::available()) {
        analysis.bound.note = "without COIN-OR CLP only equal root shares were looked at";
        return;
    }
    use_program(analysis);
    if (!analysis.trees.empty()) analysis.shares.clear();
    if (analysis.bound.note.empty() && !analysis.bound.exact()) {
        analysis.bound.note =
            "some links are too slow beside the others to be used to the last byte";
    }
}

}  // namespace

Analysis analyse(const Topology& topology, const ForestRequest& request) {
    Analysis analysis;
    analysis.demand = resolve(topology, request);
    analysis.physical = make_network(topology, request);
    analysis.reduction = std::make_unique<Reduction>(analysis.physical.network);
    analysis.bound.symmetric = analysis.physical.symmetric;
    if (analysis.demand.gpus.size() == 1) {
        analysis.bound.unlimited = true;
        return analysis;
    }
    const Demand& demand = analysis.demand;
    const int terminals = analysis.network().terminals;
    const bool one_root = request.collective == ForestCollective::broadcast ||
                          request.collective == ForestCollective::reduce;
    FixedRoots equal;
    if (!one_root) {
        equal = best_fixed_roots(analysis.network(), std::vector<Units>(terminals, 1));
        analysis.bound.equal_shares = equal.scale.value() * terminals / demand.phases;
    }
    if (demand.free_roots) {
        use_free_shares(analysis, equal);
    } else {
        use_fixed_shares(analysis, best_fixed_roots(analysis.network(), demand.shares));
    }
    return analysis;
}

}  // namespace rondo::forest

namespace rondo {

Bound forest_bound(const Topology& topology, const ForestRequest& request) {
    return forest::analyse(topology, request).bound;
}

}  // namespace rondo
