// Chooses between the ways to pack trees: the shallowest result that has the full throughput wins.
#include "topology/forest/pack.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "topology/forest/arborescences.hpp"
#include "topology/forest/centre.hpp"
#include "topology/forest/master.hpp"
#include "topology/forest/orientation.hpp"
#include "topology/forest/peel.hpp"
#include "topology/forest/scaling.hpp"
#include "topology/forest/tree_program.hpp"

namespace rondo::forest {
namespace {

/// How often the search for shallow trees is varied.
constexpr unsigned most_searches = 4;
constexpr unsigned most_even_searches = 16;
/// Even trees that are deeper are left: pipelines would take too long to fill.
constexpr int deep = 8;

/// Trees of two hops are shallow enough where the linear program would be large.
constexpr int shallow = 2;
constexpr int few_terminals = 16;

Rational total_of(const Trees& trees) {
    Rational total = 0;
    for (const auto& tree : trees) total += tree.weight;
    return total;
}

template <class Weight>
int depth_of(const std::vector<Weighted<Weight>>& trees, int terminals) {
    int depth = 0;
    for (const auto& tree : trees) depth = std::max(depth, depth_of(tree.tree, terminals));
    return depth;
}

/// The part of the links that the trees use, summed up: the less, the fewer ways over narrow ones.
double use_of(const Packing& packing, const std::vector<Weighted<Units>>& trees) {
    double sum = 0;
    for (const auto& [tree, weight] : trees) {
        const std::vector<int> loads = packing.loads(tree);
        for (std::size_t slot = 0; slot < loads.size(); ++slot) {
            if (loads[slot] == 0) continue;
            sum += static_cast<double>(loads[slot] * weight) /
                   static_cast<double>(packing.capacity[slot]);
        }
    }
    return sum;
}

/// The best of some searches; what it leaves over is packed exactly.
Trees search(const ScaledPacking& scaled, unsigned searches) {
    const int terminals = scaled.packing.network->terminals;
    const auto quality = [&](const Peeled& peeled) {
        return std::tuple(peeled.rest.total, depth_of(peeled.trees, terminals),
                          use_of(scaled.packing, peeled.trees));
    };
    std::optional<Peeled> best;
    for (unsigned seed = 1; seed <= searches; ++seed) {
        Peeled peeled = peel(scaled.packing, seed);
        if (!best || quality(peeled) < quality(*best)) best = std::move(peeled);
        if (best->rest.total == 0 && depth_of(best->trees, terminals) <= shallow) break;
    }
    if (best->rest.total > 0) {
        std::ranges::move(pack_exactly(best->rest), std::back_inserter(best->trees));
    }
    Trees result;
    for (auto& [tree, weight] : best->trees) {
        result.push_back({std::move(tree), to_rational(weight) / scaled.unit});
    }
    return result;
}

Trees joined(const Trees& trees) {
    std::map<PackedTree, Rational> weights;
    for (const auto& tree : trees) weights[tree.tree] += tree.weight;
    Trees result;
    for (const auto& [tree, weight] : weights) result.push_back({tree, weight});
    return result;
}

/// Where equal shares are as good as free ones, trees for these are found quickly; if they are not
/// shallow, or there are few terminals, the linear program may find better ones.
Trees shallowest(const Analysis& analysis) {
    const int terminals = analysis.network().terminals;
    const bool search_first =
        !analysis.demand.free_roots || (terminals > few_terminals && !analysis.shares.empty());
    if (!search_first) {
        auto trees = pack_by_program(analysis, terminals - 1);
        return trees ? std::move(*trees) : pack_by_search(analysis);
    }
    Trees trees = pack_by_search(analysis);
    const int depth = depth_of(trees, terminals);
    if (depth <= shallow && terminals > few_terminals) return trees;
    return pack_by_program(analysis, depth - 1).value_or(std::move(trees));
}

}  // namespace

std::optional<Trees> pack_by_program(const Analysis& analysis, int most_depth) {
    if (!Master::available()) return std::nullopt;
    const std::optional<ScaledPacking> scaled =
        analysis.demand.free_roots ? free_packing(analysis) : rooted_packing(analysis);
    if (!scaled) return std::nullopt;
    TreeProgram program(scaled->packing);
    for (int depth = 1; depth <= most_depth; ++depth) {
        program.run(
            {.depth = depth, .patience = 10, .rounds = 600, .attempts = 20, .promising = 0.4});
        std::optional<Trees> trees = program.exact_trees();
        if (!trees || total_of(*trees) != to_rational(scaled->packing.total)) continue;
        for (auto& tree : *trees) tree.weight /= scaled->unit;
        return trees;
    }
    return std::nullopt;
}

Trees pack_by_search(const Analysis& analysis) {
    if (!analysis.trees.empty()) return analysis.trees;
    if (!analysis.shares.empty()) return search(refined(rooted_packing(analysis)), most_searches);
    ScaledPacking scaled = free_packing(analysis).value();
    scaled.packing = orient(scaled.packing);
    return search(refined(std::move(scaled)), most_searches);
}

std::optional<EvenPacking> pack_evenly(const Analysis& analysis, int most_units) {
    if (most_units == 0 || analysis.demand.free_roots) return std::nullopt;
    EvenPacking result;
    const ScaledPacking exact = rooted_packing(analysis);
    std::optional<ScaledPacking> even = even_packing(exact, most_units);
    if (!even && analysis.relays() && analysis.network().terminals <= few_terminals) {
        result.bypass = std::make_unique<Bypass>(exact);
        even = even_packing(result.bypass->packing(), most_units);
    }
    if (!even) return std::nullopt;
    result.trees = joined(search(*even, most_even_searches));
    if (depth_of(result.trees, analysis.network().terminals) > deep) return std::nullopt;
    return result;
}

Trees pack_trees(const Analysis& analysis) {
    Trees trees = shallowest(analysis);
    if (analysis.demand.free_roots) {
        for (auto& tree : trees) {
            tree.tree = rooted_at_centre(tree.tree, analysis.network().terminals);
        }
    }
    return joined(trees);
}

}  // namespace rondo::forest
