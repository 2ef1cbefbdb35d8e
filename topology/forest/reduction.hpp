// Makes a network smaller without changing what can flow between its terminals, and finds the way
// back.
#pragma once

#include <optional>
#include <vector>

#include "topology/forest/network.hpp"

namespace rondo::forest {

/// A path and the part of the traffic that takes it.
struct PathShare {
    Rational share;
    Path path;
};

/// Leaves out relays that lead nowhere, joins parallel edges, replaces a relay with two neighbours
/// by an edge, two relays with a trunk that can't be the bottleneck by one, and relays that are
/// proportional planes of one switch by that switch.
class Reduction {
public:
    explicit Reduction(const Network& original);

    const Network& network() const { return reduced_; }
    /// The paths of the original network that a path between two terminals of the reduced one
    /// stands for.
    std::vector<PathShare> expand(const Path& path) const;
    /// Prices per edge of the original network that cost every tree the same and are worth the same
    /// in total.
    std::vector<Rational> lift_prices(const std::vector<Rational>& prices) const;
    /// The original vertices that a vertex set with the same capacity around it consists of.
    std::vector<bool> lift_set(const std::vector<bool>& inside) const;

private:
    enum class Kind { series, parallel, trunk, planes };
    struct Operation {
        Kind kind = Kind::series;
        std::vector<int> relays = {};       ///< the vertices that disappear
        int trunk = -1;                     ///< the edge between the two relays of a trunk
        std::vector<Rational> shares = {};  ///< of parallel edges and of planes
        /// New edges, each with what it replaces.
        std::vector<std::pair<int, std::vector<int>>> edges = {};
    };

    void drop_unreachable();
    bool drop_dead_end();
    bool join_parallel();
    bool replace_series();
    bool collapse_trunk();
    bool merge_planes();
    bool merge_planes_like(int first);
    bool proportional(int first, int second) const;
    void join_trunk(int edge);
    void compact();

    int add_vertex();
    int add_edge(Operation& operation, Edge edge, std::vector<int> parts);
    void remove_edge(int edge);
    void finish(Operation operation);
    Units capacity_at(int vertex, int except) const;
    bool relay(int vertex) const { return vertex >= terminals_; }
    Step oriented(int edge, int from) const { return {edge, edges_[edge].a == from}; }
    int start(Step step) const { return step.forward ? edges_[step.edge].a : edges_[step.edge].b; }
    int end(Step step) const { return step.forward ? edges_[step.edge].b : edges_[step.edge].a; }

    int newest_operation(const Path& path) const;
    std::optional<int> representative(int original_vertex) const;
    std::vector<PathShare> undo(const Operation& operation, const PathShare& from) const;
    Path undo_trunk(const Operation& operation, const Path& path) const;
    Path undo_part(const Operation& operation, const Path& path, std::size_t part) const;
    const std::vector<int>* parts_of(const Operation& operation, int edge) const;

    int terminals_;
    int original_vertices_;
    int original_edges_;
    std::vector<Edge> edges_;   ///< all that ever existed
    std::vector<int> made_by_;  ///< per edge: index of the operation, -1 for an original one
    std::vector<std::vector<int>> incident_;
    std::vector<int> follows_;  ///< per vertex: itself or, once it is gone, its stand-in (-1: none)
    std::vector<Operation> operations_;
    Network reduced_;
    std::vector<int> original_edge_;  ///< per edge of reduced_: index into edges_
    std::vector<int> compact_vertex_;
};

}  // namespace rondo::forest
