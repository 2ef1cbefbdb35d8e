// Packs trees exactly whenever they fit, however deep: for what is left when the search for shallow
// ones is stuck.
#include "topology/forest/arborescences.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <stdexcept>

#include "topology/forest/arc_set.hpp"
#include "topology/forest/max_flow.hpp"
#include "topology/forest/relay_removal.hpp"

namespace rondo::forest {
namespace {

/// A bundle of equal trees that do not span yet.
struct PartialTree {
    int root = 0;
    Units weight = 0;
    std::vector<bool> reached;
    std::vector<std::pair<int, int>> edges;
};

class Arborescences {
public:
    explicit Arborescences(const Packing& packing)
        : terminals_(packing.network->terminals), arcs_(remove_relays(packing)) {
        for (const ArcSet::Arc& arc : arcs_.arcs()) free_.push_back(arc.capacity);
        for (int root = 0; root < terminals_; ++root) {
            if (packing.roots[root] == 0) continue;
            PartialTree tree{root, packing.roots[root], std::vector<bool>(terminals_, false), {}};
            tree.reached[root] = true;
            open_.push_back(std::move(tree));
        }
    }

    std::vector<Weighted<Units>> run() {
        while (!open_.empty()) {
            PartialTree tree = std::move(open_.front());
            open_.pop_front();
            grow(tree);
            finish(tree);
        }
        return std::move(finished_);
    }

private:
    /// Breadth first. A terminal that can't be extended now never can: room only shrinks.
    void grow(PartialTree& tree) {
        std::deque<int> queue;
        for (int terminal = 0; terminal < terminals_; ++terminal) {
            if (tree.reached[terminal]) queue.push_back(terminal);
        }
        while (!queue.empty() && static_cast<int>(tree.edges.size()) < terminals_ - 1) {
            const int from = queue.front();
            queue.pop_front();
            for (int to = 0; to < terminals_; ++to) {
                if (!tree.reached[to] && extend(tree, from, to)) queue.push_back(to);
            }
        }
        if (static_cast<int>(tree.edges.size()) < terminals_ - 1) {
            throw std::logic_error("a tree of the forest could not be completed");
        }
    }

    /// Adds an edge to as much of the bundle as possible; what is left waits for another edge.
    bool extend(PartialTree& tree, int from, int to) {
        const int arc = arcs_.find(from, to);
        if (arc < 0 || free_[arc] == 0) return false;
        const Units most = std::min(tree.weight, free_[arc]);
        const Units weight = std::min(most, room(from, to, most));
        if (weight <= 0) return false;
        if (weight < tree.weight) {
            PartialTree rest = tree;
            rest.weight = tree.weight - weight;
            open_.push_back(std::move(rest));
            tree.weight = weight;
        }
        free_[arc] -= weight;
        tree.reached[to] = true;
        tree.edges.emplace_back(from, to);
        return true;
    }

    /// The smallest cut between two terminals, beyond the weight of the other trees that have to
    /// cross it.
    Units room(int from, int to, Units limit) const {
        MaxFlow flow(terminals_ + static_cast<int>(open_.size()));
        const auto& arcs = arcs_.arcs();
        Units others = 0;
        Units infinite = limit;
        for (const Units capacity : free_) infinite += capacity;
        for (std::size_t arc = 0; arc < arcs.size(); ++arc) {
            if (free_[arc] > 0) flow.add_arc(arcs[arc].from, arcs[arc].to, free_[arc]);
        }
        for (std::size_t other = 0; other < open_.size(); ++other) {
            const int node = terminals_ + static_cast<int>(other);
            others += open_[other].weight;
            flow.add_arc(from, node, open_[other].weight);
            for (int terminal = 0; terminal < terminals_; ++terminal) {
                if (open_[other].reached[terminal]) {
                    flow.add_arc(node, terminal, infinite + others);
                }
            }
        }
        return flow.run(from, to, others + limit) - others;
    }

    /// Gives each edge its paths; the tree is cut into as many as needed for every edge to have
    /// one.
    void finish(const PartialTree& tree) {
        std::vector<std::vector<ArcPiece>> pieces;
        for (const auto& [from, to] : tree.edges) {
            pieces.push_back(arcs_.take(arcs_.find(from, to), tree.weight));
        }
        for (Units left = tree.weight; left > 0; left -= finished_.back().weight) {
            Weighted<Units> part{{.root = tree.root}, left};
            for (const auto& options : pieces)
                part.weight = std::min(part.weight, options.back().amount);
            for (std::size_t edge = 0; edge < pieces.size(); ++edge) {
                ArcPiece& piece = pieces[edge].back();
                part.tree.edges.push_back(
                    {tree.edges[edge].first, tree.edges[edge].second, piece.path});
                piece.amount -= part.weight;
                if (piece.amount == 0) pieces[edge].pop_back();
            }
            finished_.push_back(std::move(part));
        }
    }

    int terminals_;
    ArcSet arcs_;
    std::vector<Units> free_;  ///< per arc: not promised to a tree yet
    std::deque<PartialTree> open_;
    std::vector<Weighted<Units>> finished_;
};

}  // namespace

std::vector<Weighted<Units>> pack_exactly(const Packing& packing) {
    return Arborescences(packing).run();
}

}  // namespace rondo::forest
