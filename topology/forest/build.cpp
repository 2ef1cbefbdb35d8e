// From a request to its forest: trees packed in the reduced network, then laid out on the real
// links.
#include <algorithm>

#include "topology/forest/analysis.hpp"
#include "topology/forest/layout.hpp"
#include "topology/forest/pack.hpp"

namespace rondo {
namespace {

Forest single_gpu(const forest::Analysis& analysis) {
    Forest result;
    result.bound = analysis.bound;
    result.throughput = 1;
    result.trees.push_back({.root = analysis.demand.gpus.front(), .weight = 1});
    return result;
}

}  // namespace

Forest build_forest(const Topology& topology, const ForestRequest& request) {
    const forest::Analysis analysis = forest::analyse(topology, request);
    if (analysis.bound.unlimited) return single_gpu(analysis);
    Forest result;
    result.bound = analysis.bound;
    std::optional<forest::EvenPacking> packing =
        forest::pack_evenly(analysis, request.most_even_units);
    if (!packing) packing = {forest::pack_trees(analysis), nullptr};
    for (const auto& packed : packing->trees) {
        result.trees.push_back(forest::lay_out(analysis, packed, packing->bypass.get()));
        result.throughput += packed.weight;
        result.depth = std::max(result.depth, result.trees.back().depth);
    }
    std::ranges::stable_sort(result.trees, std::ranges::greater{}, &ForestTree::weight);
    return result;
}

}  // namespace rondo
