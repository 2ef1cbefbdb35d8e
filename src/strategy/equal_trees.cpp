// Matroid union: k spanning trees in the multigraph that has room for so many trees of a weight w
// between two ranks as the given trees have weight there. Edges that are in the way are moved from
// tree to tree along shortest chains (Edmonds).
#include "strategy/equal_trees.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace rondo {
namespace {

constexpr std::uint32_t nothing = UINT32_MAX;

struct Edge {
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    std::uint32_t tree = nothing;  ///< that has it
};

class Union {
public:
    Union(std::uint32_t ranks, std::uint32_t trees, std::vector<Edge> edges)
        : ranks_(ranks), trees_(trees), edges_(std::move(edges)) {}

    /// True when all trees span.
    bool run() {
        std::size_t placed = 0;
        for (const Edge& edge : edges_) placed += edge.tree != nothing ? 1 : 0;
        for (std::uint32_t edge = 0; edge < edges_.size(); ++edge) {
            if (edges_[edge].tree == nothing && place(edge)) ++placed;
        }
        return placed == std::size_t{trees_} * (ranks_ - 1);
    }
    const std::vector<Edge>& edges() const { return edges_; }

private:
    /// The edges of `tree` between the ends of an edge; empty when it does not join them.
    std::vector<std::uint32_t> way(std::uint32_t tree, std::uint32_t from, std::uint32_t to) const {
        std::vector<std::uint32_t> by(ranks_, nothing);
        std::vector<std::uint32_t> queue{from};
        std::vector<bool> seen(ranks_);
        seen[from] = true;
        for (std::size_t i = 0; i < queue.size() && !seen[to]; ++i) {
            for (std::uint32_t e = 0; e < edges_.size(); ++e) {
                if (edges_[e].tree != tree) continue;
                const Edge& edge = edges_[e];
                if (edge.a != queue[i] && edge.b != queue[i]) continue;
                const std::uint32_t next = edge.a == queue[i] ? edge.b : edge.a;
                if (seen[next]) continue;
                seen[next] = true;
                by[next] = e;
                queue.push_back(next);
            }
        }
        std::vector<std::uint32_t> result;
        if (!seen[to]) return result;
        for (std::uint32_t at = to; at != from;) {
            const Edge& edge = edges_[by[at]];
            result.push_back(by[at]);
            at = edge.a == at ? edge.b : edge.a;
        }
        return result;
    }

    /// Finds a place for an edge, moving others if need be.
    bool place(std::uint32_t first) {
        std::vector<std::uint32_t> before(edges_.size(), nothing);
        std::vector<std::uint32_t> wanted(edges_.size(), nothing);  // the tree that it blocks
        std::vector<std::uint32_t> queue{first};
        std::vector<bool> labelled(edges_.size());
        labelled[first] = true;
        for (std::size_t i = 0; i < queue.size(); ++i) {
            const std::uint32_t edge = queue[i];
            for (std::uint32_t tree = 0; tree < trees_; ++tree) {
                if (edges_[edge].tree == tree) continue;
                const auto cycle = way(tree, edges_[edge].a, edges_[edge].b);
                if (cycle.empty()) {
                    shift(edge, tree, before, wanted);
                    return true;
                }
                for (const std::uint32_t other : cycle) {
                    if (labelled[other]) continue;
                    labelled[other] = true;
                    before[other] = edge;
                    wanted[other] = tree;
                    queue.push_back(other);
                }
            }
        }
        return false;
    }

    /// The edge goes into the tree, the one before it into the place that it leaves, and so on.
    void shift(std::uint32_t edge, std::uint32_t tree, const std::vector<std::uint32_t>& before,
               const std::vector<std::uint32_t>& wanted) {
        while (edge != nothing) {
            edges_[edge].tree = tree;
            tree = wanted[edge];
            edge = before[edge];
        }
    }

    const std::uint32_t ranks_;
    const std::uint32_t trees_;
    std::vector<Edge> edges_;
};

using Room = std::map<std::pair<std::uint32_t, std::uint32_t>, double>;

Room room_of(const std::vector<WeightedTree>& trees) {
    Room room;
    for (const WeightedTree& tree : trees) {
        for (std::uint32_t rank = 0; rank < tree.parents.size(); ++rank) {
            const std::uint32_t parent = tree.parents[rank];
            if (parent != rank) room[std::minmax(rank, parent)] += tree.weight;
        }
    }
    return room;
}

/// How many trees of this weight fit between two ranks.
std::uint32_t places(double room, double weight, std::uint32_t most) {
    return static_cast<std::uint32_t>(std::min<double>(room / weight * (1 + 1e-9), most));
}

/// The given trees as often as they fit, so that what is left for the union is little.
std::vector<Edge> first_edges(const std::vector<WeightedTree>& trees, const Room& room,
                              double weight, std::uint32_t count) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> left;
    for (const auto& [ends, width] : room) left[ends] = places(width, weight, count);
    std::vector<Edge> edges;
    std::uint32_t next = 0;
    for (const WeightedTree& tree : trees) {
        for (double rest = tree.weight * (1 + 1e-9); rest >= weight && next < count;
             rest -= weight) {
            for (std::uint32_t rank = 0; rank < tree.parents.size(); ++rank) {
                if (tree.parents[rank] == rank) continue;
                const auto ends = std::minmax(rank, tree.parents[rank]);
                --left[ends];
                edges.push_back({ends.first, ends.second, next});
            }
            ++next;
        }
    }
    for (const auto& [ends, copies] : left) {
        edges.insert(edges.end(), copies, {ends.first, ends.second, nothing});
    }
    return edges;
}

/// The same edges with the root where the tree is least deep.
WeightedTree rooted_in_the_middle(const std::vector<Edge>& edges, std::uint32_t tree,
                                  std::uint32_t ranks, double weight) {
    WeightedTree best;
    std::uint32_t best_depth = nothing;
    for (std::uint32_t root = 0; root < ranks; ++root) {
        WeightedTree candidate{std::vector<std::uint32_t>(ranks, nothing), weight};
        candidate.parents[root] = root;
        std::vector<std::pair<std::uint32_t, std::uint32_t>> queue{{root, 0}};
        for (std::size_t i = 0; i < queue.size(); ++i) {
            const auto [rank, depth] = queue[i];
            for (const Edge& edge : edges) {
                if (edge.tree != tree || (edge.a != rank && edge.b != rank)) continue;
                const std::uint32_t next = edge.a == rank ? edge.b : edge.a;
                if (candidate.parents[next] != nothing) continue;
                candidate.parents[next] = rank;
                queue.emplace_back(next, depth + 1);
            }
        }
        if (queue.back().second < best_depth) {
            best_depth = queue.back().second;
            best = std::move(candidate);
        }
    }
    return best;
}

struct Attempt {
    double whole = 0;  ///< count * weight
    double weight = 0;
    std::uint32_t count = 0;
};

/// Counts and weights that have enough room in all, the heaviest first.
std::vector<Attempt> attempts(const Room& room, double whole, std::uint32_t ranks,
                              const EqualTreesOptions& options) {
    const std::uint32_t most = options.most;
    std::set<double> weights;
    for (const auto& [ends, width] : room) {
        for (std::uint32_t parts = 1; parts <= most; ++parts) weights.insert(width / parts);
    }
    std::vector<Attempt> result;
    for (const double weight : weights) {
        std::uint32_t edges = 0;
        for (const auto& [ends, width] : room) edges += places(width, weight, most);
        for (std::uint32_t count = std::min(most, edges / (ranks - 1)); count >= 1; --count) {
            const double sum = count * weight;
            if (sum < options.least * whole) break;
            const bool most_are_used = 4 * (most / count * count) >= 3 * most;
            if (most_are_used && sum <= whole * (1 + 1e-9)) result.push_back({sum, weight, count});
        }
    }
    std::ranges::sort(result, [&](const Attempt& a, const Attempt& b) {
        // Within one in two hundred the number of trees decides.
        const auto rough = [whole](const Attempt& it) {
            return static_cast<int>(it.whole / whole * 200);
        };
        if (rough(a) != rough(b)) return rough(a) > rough(b);
        if (a.count != b.count) return options.many == (a.count > b.count);
        return a.whole > b.whole;
    });
    return result;
}

}  // namespace

std::vector<WeightedTree> equal_trees(const std::vector<WeightedTree>& trees,
                                      const EqualTreesOptions& options) {
    constexpr std::size_t most_attempts = 40;
    const auto ranks = static_cast<std::uint32_t>(trees.front().parents.size());
    double whole = 0;
    for (const WeightedTree& tree : trees) whole += tree.weight;
    const Room room = room_of(trees);
    const std::vector<Attempt> list = attempts(room, whole, ranks, options);
    for (std::size_t i = 0; i < std::min(list.size(), most_attempts); ++i) {
        const auto& [sum, weight, count] = list[i];
        Union packing(ranks, count, first_edges(trees, room, weight, count));
        if (!packing.run()) continue;
        std::vector<WeightedTree> result;
        for (std::uint32_t tree = 0; tree < count; ++tree) {
            result.push_back(rooted_in_the_middle(packing.edges(), tree, ranks, weight));
        }
        return result;
    }
    return {};
}

}  // namespace rondo
