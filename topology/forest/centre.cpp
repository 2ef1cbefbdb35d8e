// Turns a tree round so that its root is in the middle.
#include "topology/forest/centre.hpp"

#include <algorithm>
#include <vector>

namespace rondo::forest {
namespace {

Path reversed(const Path& path) {
    Path result;
    for (auto step = path.rbegin(); step != path.rend(); ++step) {
        result.push_back({step->edge, !step->forward});
    }
    return result;
}

/// Every edge at both of its ends, leading away from there.
using Neighbours = std::vector<std::vector<PackedEdge>>;

PackedTree rooted_at(int root, const Neighbours& neighbours) {
    PackedTree tree{.root = root};
    std::vector<bool> reached(neighbours.size(), false);
    std::vector<int> queue{root};
    reached[root] = true;
    for (std::size_t next = 0; next < queue.size(); ++next) {
        for (const PackedEdge& edge : neighbours[queue[next]]) {
            if (reached[edge.child]) continue;
            reached[edge.child] = true;
            queue.push_back(edge.child);
            tree.edges.push_back(edge);
        }
    }
    return tree;
}

}  // namespace

PackedTree rooted_at_centre(const PackedTree& tree, int terminals) {
    Neighbours neighbours(terminals);
    for (const PackedEdge& edge : tree.edges) {
        neighbours[edge.parent].push_back(edge);
        neighbours[edge.child].push_back({edge.child, edge.parent, reversed(edge.path)});
    }
    for (auto& edges : neighbours) std::ranges::sort(edges);
    PackedTree best = rooted_at(tree.root, neighbours);
    for (int root = 0; root < terminals; ++root) {
        if (neighbours[root].size() <= 1 && terminals > 2) continue;  // a leaf is never better
        PackedTree turned = rooted_at(root, neighbours);
        if (depth_of(turned, terminals) < depth_of(best, terminals)) best = std::move(turned);
    }
    return best;
}

}  // namespace rondo::forest
