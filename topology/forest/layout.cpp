// Lays a tree of the reduced network out on the GPUs and links of the topology.
#include "topology/forest/layout.hpp"

#include <algorithm>

namespace rondo::forest {
namespace {

/// All combinations of the links along a path, walked forwards or backwards.
std::vector<ForestRoute> routes_along(const PhysicalNetwork& physical, const PathShare& way,
                                      bool back) {
    std::vector<ForestRoute> routes{{way.share, {}}};
    for (std::size_t i = 0; i < way.path.size(); ++i) {
        const Step step = way.path[back ? way.path.size() - 1 - i : i];
        const auto& links =
            step.forward != back ? physical.forward[step.edge] : physical.backward[step.edge];
        if (links.size() == 1) {
            for (ForestRoute& route : routes) route.links.push_back(links.front().link);
            continue;
        }
        std::vector<ForestRoute> longer;
        for (const ForestRoute& route : routes) {
            for (const LinkShare& link : links) {
                longer.push_back({Rational(route.share * link.share), route.links});
                longer.back().links.push_back(link.link);
            }
        }
        routes = std::move(longer);
    }
    return routes;
}

std::vector<ForestRoute> routes(const PhysicalNetwork& physical, const std::vector<PathShare>& ways,
                                bool back) {
    std::vector<ForestRoute> result;
    for (const PathShare& way : ways) {
        std::ranges::move(routes_along(physical, way, back), std::back_inserter(result));
    }
    return result;
}

std::vector<PathShare> ways_of(const Analysis& analysis, const Path& path, const Bypass* bypass) {
    if (bypass == nullptr) return analysis.reduction->expand(path);
    std::vector<PathShare> ways;
    for (const PathShare& way : bypass->expand(path)) {
        for (PathShare& real : analysis.reduction->expand(way.path)) {
            real.share *= way.share;
            ways.push_back(std::move(real));
        }
    }
    return ways;
}

}  // namespace

ForestTree lay_out(const Analysis& analysis, const Weighted<Rational>& packed,
                   const Bypass* bypass) {
    const std::vector<int>& gpus = analysis.demand.gpus;
    ForestTree tree{.root = gpus[packed.tree.root], .weight = packed.weight};
    tree.depth = depth_of(packed.tree, analysis.network().terminals);
    for (const PackedEdge& edge : packed.tree.edges) {
        const std::vector<PathShare> ways = ways_of(analysis, edge.path, bypass);
        ForestEdge laid{gpus[edge.parent], gpus[edge.child], {}, {}};
        if (analysis.demand.down) laid.down = routes(analysis.physical, ways, false);
        if (analysis.demand.up) laid.up = routes(analysis.physical, ways, true);
        tree.edges.push_back(std::move(laid));
    }
    return tree;
}

}  // namespace rondo::forest
