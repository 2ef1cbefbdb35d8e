// Hill climbing: the first exchange that helps is made, until a round finds none.
#include "strategy/reshape_trees.hpp"

#include <algorithm>
#include <bit>
#include <map>

namespace rondo {
namespace {

constexpr std::uint32_t most_ranks = 64;
constexpr int most_rounds = 8;

constexpr int few_folds = static_cast<int>(few_parts_to_fold);

using Set = std::uint64_t;

Set one(std::uint32_t rank) {
    return Set{1} << rank;
}

std::uint32_t take_first(Set& set) {
    const auto rank = static_cast<std::uint32_t>(std::countr_zero(set));
    set &= set - 1;
    return rank;
}

struct Shape {
    std::vector<Set> neighbours;
    int cost = 0;

    bool has(std::uint32_t a, std::uint32_t b) const { return (neighbours[a] & one(b)) != 0; }
    void add(std::uint32_t a, std::uint32_t b) {
        neighbours[a] |= one(b);
        neighbours[b] |= one(a);
    }
    void remove(std::uint32_t a, std::uint32_t b) {
        neighbours[a] &= ~one(b);
        neighbours[b] &= ~one(a);
    }

    Set around(Set ranks) const {
        Set result = 0;
        while (ranks != 0) result |= neighbours[take_first(ranks)];
        return result;
    }
    /// Hops to the farthest rank, and one of those that are so far.
    std::pair<int, std::uint32_t> farthest(std::uint32_t from) const {
        Set seen = one(from);
        Set last = seen;
        for (int hops = 0;; ++hops) {
            const Set next = around(last) & ~seen;
            if (next == 0) return {hops, static_cast<std::uint32_t>(std::countr_zero(last))};
            seen |= next;
            last = next;
        }
    }
    Set joined_to(std::uint32_t rank) const {
        Set seen = one(rank);
        for (Set last = seen; last != 0;) {
            last = around(last) & ~seen;
            seen |= last;
        }
        return seen;
    }
    /// The edges between two ranks.
    TreeEdges way(std::uint32_t from, std::uint32_t to) const {
        std::vector<std::uint32_t> before(neighbours.size());
        Set seen = one(from);
        for (Set last = seen; (seen & one(to)) == 0;) {
            Set next = 0;
            while (last != 0) {
                const std::uint32_t rank = take_first(last);
                Set fresh = neighbours[rank] & ~seen;
                seen |= fresh;
                next |= fresh;
                while (fresh != 0) before[take_first(fresh)] = rank;
            }
            last = next;
        }
        TreeEdges result;
        for (std::uint32_t at = to; at != from; at = before[at]) {
            result.emplace_back(std::minmax(at, before[at]));
        }
        return result;
    }

    /// Less is better: the pipeline is filled sooner, blocks keep up with their links, and fewer of
    /// them are needed.
    void measure() {
        cost = 2 * farthest(farthest(0).second).first;
        for (const Set around : neighbours) {
            const int degree = std::popcount(around);
            cost += (degree > 1 ? 1 : 0) + 10 * std::max(0, degree - few_folds);
        }
    }
};

class Reshaper {
public:
    Reshaper(const std::vector<TreeEdges>& trees, const TreeEdges& spare, std::uint32_t ranks)
        : ranks_(ranks) {
        for (const TreeEdges& edges : trees) {
            Shape shape{std::vector<Set>(ranks)};
            for (const auto& [a, b] : edges) shape.add(a, b);
            shape.measure();
            shapes_.push_back(std::move(shape));
            for (const auto& edge : edges) edges_[edge] += 0;
        }
        for (const auto& edge : spare) ++edges_[edge];
    }

    void run() {
        for (int round = 0; round < most_rounds; ++round) {
            bool changed = false;
            for (std::size_t tree = 0; tree < shapes_.size(); ++tree) {
                for (auto& [edge, spare] : edges_) changed |= improve(shapes_[tree], edge, spare);
            }
            if (!changed) return;
        }
    }

    std::vector<TreeEdges> trees() const {
        std::vector<TreeEdges> result;
        for (const Shape& shape : shapes_) {
            result.emplace_back();
            for (std::uint32_t a = 0; a < ranks_; ++a) {
                for (std::uint32_t b = a + 1; b < ranks_; ++b) {
                    if (shape.has(a, b)) result.back().emplace_back(a, b);
                }
            }
        }
        return result;
    }

private:
    using Edge = std::pair<std::uint32_t, std::uint32_t>;

    /// Lets the tree have the edge in place of one of its own, when all are better off.
    bool improve(Shape& tree, const Edge& edge, int& spare) {
        if (tree.has(edge.first, edge.second)) return false;
        for (const Edge& other : tree.way(edge.first, edge.second)) {
            Shape changed = exchanged(tree, other, edge);
            if (changed.cost >= tree.cost + (spare > 0 ? 0 : worth_)) continue;
            if (spare > 0) {
                if (changed.cost >= tree.cost) continue;
                --spare;
                ++edges_[other];
                tree = std::move(changed);
                return true;
            }
            if (give(tree, changed, edge, other)) return true;
        }
        return false;
    }

    /// Takes the edge from a tree that does with the other instead.
    bool give(Shape& tree, Shape& changed, const Edge& edge, const Edge& other) {
        for (Shape& giver : shapes_) {
            if (!giver.has(edge.first, edge.second) || giver.has(other.first, other.second)) {
                continue;
            }
            giver.remove(edge.first, edge.second);
            const Set side = giver.joined_to(edge.first);
            giver.add(edge.first, edge.second);
            if (((side >> other.first ^ side >> other.second) & 1) == 0) continue;
            Shape given = exchanged(giver, edge, other);
            if (given.cost + changed.cost >= giver.cost + tree.cost) continue;
            giver = std::move(given);
            tree = std::move(changed);
            return true;
        }
        return false;
    }

    static Shape exchanged(Shape shape, const Edge& without, const Edge& with) {
        shape.remove(without.first, without.second);
        shape.add(with.first, with.second);
        shape.measure();
        return shape;
    }

    static constexpr int worth_ = 4;  ///< another tree may gain more than this one loses

    const std::uint32_t ranks_;
    std::vector<Shape> shapes_;
    std::map<Edge, int> edges_;  ///< and how many are spare
};

}  // namespace

void reshape_trees(std::vector<TreeEdges>& trees, TreeEdges spare, std::uint32_t ranks) {
    if (ranks > most_ranks) return;
    Reshaper reshaper(trees, spare, ranks);
    reshaper.run();
    trees = reshaper.trees();
}

}  // namespace rondo
