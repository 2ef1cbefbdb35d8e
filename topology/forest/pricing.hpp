// Finds the cheapest shallow spanning tree for given edge prices: the pricing step of column
// generation.
#pragma once

#include <optional>
#include <random>
#include <vector>

#include "topology/forest/packing.hpp"

namespace rondo::forest {

/// A tree over the terminals: parents only; the ways through the relays are the cheapest ones.
struct PricedTree {
    int root = 0;
    double cost = 0;
    std::vector<int> parent;  ///< per terminal; -1 for the root
};

class TreePricer {
public:
    explicit TreePricer(const Network& network);

    /// Non-negative prices, for each edge forward and backward. Finds the cheapest ways between all
    /// terminals that pass relays only.
    void set_prices(const std::vector<double>& prices);
    /// A cheap tree of at most this depth, built greedily on distances that are off by up to the
    /// part `noise`. Exact (Prim) when the depth is no limit, both directions of every edge cost
    /// the same and there is no noise; a tree of limited depth is improved by moving subtrees to
    /// cheaper parents. None when none of that depth was found.
    std::optional<PricedTree> cheapest(int root, int depth, double noise, std::mt19937& random);
    PackedTree with_paths(const PricedTree& tree) const;

private:
    void search_from(int terminal);
    double distance(int from, int to) const { return distance_[from * terminals_ + to]; }
    double guess(int from, int to) const { return guess_[from * terminals_ + to]; }
    void add_noise(double noise, std::mt19937& random);
    bool grow_cheapest_first(int root, int depth);
    bool grow_by_layers(int root, int depth);
    void improve(int root, int depth);
    bool move_one(int root, int depth);
    void measure(int root);
    bool below(int vertex, int ancestor) const;

    const Network& network_;
    int terminals_;
    std::vector<std::vector<int>> incident_;
    std::vector<double> prices_;    ///< per edge and direction
    std::vector<double> distance_;  ///< terminal to terminal
    std::vector<double> guess_;     ///< the same with noise
    std::vector<Step> last_step_;   ///< per terminal and vertex: the end of the cheapest way
    std::vector<double> reach_;
    std::vector<char> settled_;
    std::vector<int> touched_;
    std::vector<int> parent_;
    std::vector<int> depth_;
    std::vector<int> height_;
};

}  // namespace rondo::forest
