// Matroid union: k spanning trees in the multigraph that has room for so many trees of a weight w
// between two ranks as the given trees have weight there. Edges that are in the way are moved from
// tree to tree along shortest chains (Edmonds).
#include "strategy/equal_trees.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "strategy/reshape_trees.hpp"

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
        : ranks_(ranks),
          trees_(trees),
          edges_(std::move(edges)),
          at_(std::size_t{ranks} * trees),
          reached_by_(ranks) {
        for (std::uint32_t edge = 0; edge < edges_.size(); ++edge) {
            if (edges_[edge].tree != nothing) enter(edge, edges_[edge].tree);
        }
    }

    /// True when all trees span.
    bool run() {
        const std::size_t wanted = std::size_t{trees_} * (ranks_ - 1);
        std::size_t possible = edges_.size();
        for (std::uint32_t edge = 0; edge < edges_.size() && possible >= wanted; ++edge) {
            if (edges_[edge].tree == nothing && !place(edge)) --possible;
        }
        return possible >= wanted;
    }
    const std::vector<Edge>& edges() const { return edges_; }

private:
    std::vector<std::uint32_t>& at(std::uint32_t tree, std::uint32_t rank) {
        return at_[std::size_t{tree} * ranks_ + rank];
    }
    void enter(std::uint32_t edge, std::uint32_t tree) {
        at(tree, edges_[edge].a).push_back(edge);
        at(tree, edges_[edge].b).push_back(edge);
        edges_[edge].tree = tree;
    }
    void leave(std::uint32_t edge) {
        const Edge& it = edges_[edge];
        std::erase(at(it.tree, it.a), edge);
        std::erase(at(it.tree, it.b), edge);
    }

    /// The edges of `tree` between the ends of an edge; empty when it does not join them.
    const std::vector<std::uint32_t>& way(std::uint32_t tree, std::uint32_t from,
                                          std::uint32_t to) {
        std::ranges::fill(reached_by_, nothing);
        queue_.assign(1, from);
        for (std::size_t i = 0; i < queue_.size() && reached_by_[to] == nothing; ++i) {
            for (const std::uint32_t e : at(tree, queue_[i])) {
                const std::uint32_t next = edges_[e].a == queue_[i] ? edges_[e].b : edges_[e].a;
                if (next == from || reached_by_[next] != nothing) continue;
                reached_by_[next] = e;
                queue_.push_back(next);
            }
        }
        way_.clear();
        if (reached_by_[to] == nothing) return way_;
        for (std::uint32_t rank = to; rank != from;) {
            const Edge& edge = edges_[reached_by_[rank]];
            way_.push_back(reached_by_[rank]);
            rank = edge.a == rank ? edge.b : edge.a;
        }
        return way_;
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
                const auto& cycle = way(tree, edges_[edge].a, edges_[edge].b);
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
            if (edges_[edge].tree != nothing) leave(edge);
            enter(edge, tree);
            tree = wanted[edge];
            edge = before[edge];
        }
    }

    const std::uint32_t ranks_;
    const std::uint32_t trees_;
    std::vector<Edge> edges_;
    std::vector<std::vector<std::uint32_t>> at_;  ///< edges by tree and rank
    std::vector<std::uint32_t> reached_by_;       ///< of way(): edge by which each rank was found
    std::vector<std::uint32_t> queue_;
    std::vector<std::uint32_t> way_;
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

/// Roots trees one after the other: where they are least deep, unless the root would fold many
/// parts; of several such ranks, where most stood between others so far, because a root needs one
/// lane where those need two.
class Rooter {
public:
    explicit Rooter(std::uint32_t ranks) : between_(ranks) {}

    WeightedTree rooted(const TreeEdges& edges, double weight) {
        const auto ranks = static_cast<std::uint32_t>(between_.size());
        WeightedTree best;
        std::pair<std::uint32_t, std::int64_t> best_cost{nothing, 0};
        for (std::uint32_t root = 0; root < ranks; ++root) {
            auto [tree, depth] = with_root(edges, root);
            const auto parts = 1 + static_cast<std::uint32_t>(
                                       std::ranges::count_if(edges, [root](const auto& edge) {
                                           return edge.first == root || edge.second == root;
                                       }));
            const std::uint32_t excess = std::max(parts, few_parts_to_fold) - few_parts_to_fold;
            const std::pair cost{depth + 2 * excess, -std::int64_t{between_[root]}};
            if (cost >= best_cost) continue;
            best_cost = cost;
            best = {std::move(tree), weight};
        }
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            const auto children = std::ranges::count(best.parents, rank);
            if (best.parents[rank] != rank && children > 0) ++between_[rank];
        }
        return best;
    }

private:
    /// The parents, and hops to the farthest rank.
    std::pair<std::vector<std::uint32_t>, std::uint32_t> with_root(const TreeEdges& edges,
                                                                   std::uint32_t root) const {
        std::vector<std::uint32_t> parents(between_.size(), nothing);
        parents[root] = root;
        std::vector<std::pair<std::uint32_t, std::uint32_t>> queue{{root, 0}};
        for (std::size_t i = 0; i < queue.size(); ++i) {
            const auto [rank, depth] = queue[i];
            for (const auto& [a, b] : edges) {
                if (a != rank && b != rank) continue;
                const std::uint32_t next = a == rank ? b : a;
                if (parents[next] != nothing) continue;
                parents[next] = rank;
                queue.emplace_back(next, depth + 1);
            }
        }
        return {std::move(parents), queue.back().second};
    }

    std::vector<std::uint32_t> between_;  ///< trees in which the rank has a parent and children
};

struct Attempt {
    double whole = 0;  ///< count * weight
    double weight = 0;
    std::uint32_t count = 0;
};

std::vector<WeightedTree> shaped_trees(const std::vector<Edge>& edges, const Attempt& attempt,
                                       std::uint32_t ranks) {
    std::vector<TreeEdges> trees(attempt.count);
    TreeEdges spare;
    for (const Edge& edge : edges) {
        (edge.tree == nothing ? spare : trees[edge.tree]).emplace_back(edge.a, edge.b);
    }
    reshape_trees(trees, std::move(spare), ranks);
    std::vector<WeightedTree> result;
    Rooter rooter(ranks);
    for (const TreeEdges& tree : trees) result.push_back(rooter.rooted(tree, attempt.weight));
    return result;
}

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
            const bool most_are_used = options.many || 4 * (most / count * count) >= 3 * most;
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
        Union packing(ranks, list[i].count,
                      first_edges(trees, room, list[i].weight, list[i].count));
        if (!packing.run()) continue;
        auto result = shaped_trees(packing.edges(), list[i], ranks);
        if (!options.accept || options.accept(result)) return result;
    }
    return {};
}

}  // namespace rondo
