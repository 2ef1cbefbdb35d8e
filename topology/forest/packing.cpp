// What tree packing works on: capacities and root weights that are still free, and the trees found.
#include "topology/forest/packing.hpp"

#include <algorithm>

namespace rondo::forest {

int depth_of(const PackedTree& tree, int terminals) {
    std::vector<int> depth(terminals, 0);
    int deepest = 0;
    for (const PackedEdge& edge : tree.edges) {
        depth[edge.child] = depth[edge.parent] + 1;
        deepest = std::max(deepest, depth[edge.child]);
    }
    return deepest;
}

std::vector<int> Packing::loads(const PackedTree& tree) const {
    std::vector<int> loads(capacity.size(), 0);
    for (const PackedEdge& edge : tree.edges) {
        for (const Step step : edge.path) ++loads[slot(step)];
    }
    return loads;
}

void Packing::take(const PackedTree& tree, Units weight) {
    for (const PackedEdge& edge : tree.edges) {
        for (const Step step : edge.path) capacity[slot(step)] -= weight;
    }
    roots[tree.root] -= weight;
    total -= weight;
}

}  // namespace rondo::forest
