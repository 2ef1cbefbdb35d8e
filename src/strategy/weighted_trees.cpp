#include "strategy/weighted_trees.hpp"

#include <algorithm>
#include <utility>

namespace rondo {

std::uint32_t root_of(const WeightedTree& tree) {
    for (std::uint32_t rank = 0; rank < tree.parents.size(); ++rank) {
        if (tree.parents[rank] == rank) return rank;
    }
    return 0;
}

WeightedTree with_root(WeightedTree tree, std::uint32_t root) {
    for (std::uint32_t rank = root, parent = root;;) {
        const std::uint32_t next = std::exchange(tree.parents[rank], parent);
        if (next == rank) return tree;
        parent = rank;
        rank = next;
    }
}

Tree folds_of(const WeightedTree& tree) {
    Tree result{.root = root_of(tree), .folds = {}};
    result.folds.resize(tree.parents.size());
    for (std::uint32_t rank = 0; rank < tree.parents.size(); ++rank) {
        result.folds[rank].push_back(rank);
    }
    for (std::uint32_t rank = 0; rank < tree.parents.size(); ++rank) {
        if (tree.parents[rank] != rank) result.folds[tree.parents[rank]].push_back(rank);
    }
    for (auto& folds : result.folds) std::ranges::sort(folds);
    return result;
}

std::vector<std::uint32_t> depths_in(const Tree& tree) {
    std::vector<std::uint32_t> depths(tree.folds.size());
    std::vector<std::uint32_t> reached{tree.root};
    for (std::size_t i = 0; i < reached.size(); ++i) {
        for (const std::uint32_t child : tree.folds[reached[i]]) {
            if (child == reached[i]) continue;
            depths[child] = depths[reached[i]] + 1;
            reached.push_back(child);
        }
    }
    return depths;
}

std::uint32_t parent_of(const Tree& tree, std::uint32_t rank) {
    for (std::uint32_t parent = 0; parent < tree.folds.size(); ++parent) {
        if (parent != rank &&
            std::ranges::find(tree.folds[parent], rank) != tree.folds[parent].end()) {
            return parent;
        }
    }
    return rank;
}

}  // namespace rondo
