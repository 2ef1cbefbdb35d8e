// The way back from a reduced network: paths, prices and sets of the original one.
#include <algorithm>

#include "topology/forest/reduction.hpp"

namespace rondo::forest {

std::vector<PathShare> Reduction::expand(const Path& path) const {
    PathShare whole{1, {}};
    for (const Step step : path) whole.path.push_back({original_edge_[step.edge], step.forward});
    std::vector<PathShare> open{std::move(whole)};
    std::vector<PathShare> done;
    while (!open.empty()) {
        PathShare current = std::move(open.back());
        open.pop_back();
        const int newest = newest_operation(current.path);
        if (newest < 0) {
            done.push_back(std::move(current));
            continue;
        }
        std::ranges::move(undo(operations_[newest], current), std::back_inserter(open));
    }
    std::ranges::reverse(done);
    return done;
}

int Reduction::newest_operation(const Path& path) const {
    int newest = -1;
    for (const Step step : path) newest = std::max(newest, made_by_[step.edge]);
    return newest;
}

std::vector<PathShare> Reduction::undo(const Operation& operation, const PathShare& from) const {
    if (operation.kind == Kind::series || operation.kind == Kind::trunk) {
        return {{from.share, undo_trunk(operation, from.path)}};
    }
    std::vector<PathShare> result;
    for (std::size_t part = 0; part < operation.shares.size(); ++part) {
        result.push_back(
            {Rational(from.share * operation.shares[part]), undo_part(operation, from.path, part)});
    }
    return result;
}

const std::vector<int>* Reduction::parts_of(const Operation& operation, int edge) const {
    const auto found =
        std::ranges::find(operation.edges, edge, [](const auto& entry) { return entry.first; });
    return found == operation.edges.end() ? nullptr : &found->second;
}

/// Every edge becomes its parts in a row; a trunk is crossed where the path changes sides.
Path Reduction::undo_trunk(const Operation& operation, const Path& path) const {
    const auto removed = [&](int vertex) {
        return std::ranges::find(operation.relays, vertex) != operation.relays.end();
    };
    Path result;
    for (const Step step : path) {
        const std::vector<int>* parts = parts_of(operation, step.edge);
        if (parts == nullptr) {
            result.push_back(step);
            continue;
        }
        std::vector<int> row = *parts;
        if (!step.forward) std::ranges::reverse(row);
        int at = result.empty() ? start(step) : end(result.back());
        for (const int part : row) {
            const bool joins = edges_[part].a == at || edges_[part].b == at;
            if (!joins && removed(at)) {
                result.push_back(oriented(operation.trunk, at));
                at = end(result.back());
            }
            result.push_back(oriented(part, at));
            at = end(result.back());
        }
    }
    return result;
}

/// One edge of the parts, the same one for all edges: the same plane on the way in and out.
Path Reduction::undo_part(const Operation& operation, const Path& path, std::size_t part) const {
    Path result;
    for (const Step step : path) {
        const std::vector<int>* parts = parts_of(operation, step.edge);
        if (parts == nullptr) {
            result.push_back(step);
            continue;
        }
        const Edge& piece = edges_[(*parts)[part]];
        const Edge& whole = edges_[step.edge];
        const bool same_order = piece.a == whole.a || piece.b == whole.b;
        result.push_back({(*parts)[part], step.forward == same_order});
    }
    return result;
}

/// Parts in a row: only the narrowest can be full. Otherwise the traffic meets one of the parts:
/// all cost the same.
std::vector<Rational> Reduction::lift_prices(const std::vector<Rational>& prices) const {
    std::vector<Rational> lifted(edges_.size(), 0);
    for (std::size_t edge = 0; edge < prices.size(); ++edge) {
        lifted[original_edge_[edge]] = prices[edge];
    }
    for (auto operation = operations_.rbegin(); operation != operations_.rend(); ++operation) {
        for (const auto& [edge, parts] : operation->edges) {
            if (operation->kind != Kind::series) {
                for (const int part : parts) lifted[part] = lifted[edge];
                continue;
            }
            lifted[*std::ranges::min_element(
                parts, {}, [&](int part) { return edges_[part].capacity; })] = lifted[edge];
        }
    }
    lifted.resize(original_edges_);
    return lifted;
}

/// The vertex of the reduced network on whose side of a cut an original vertex is, if that matters.
std::optional<int> Reduction::representative(int original_vertex) const {
    int vertex = original_vertex;
    while (vertex >= 0 && follows_[vertex] != vertex) vertex = follows_[vertex];
    if (vertex < 0 || compact_vertex_[vertex] < 0) return std::nullopt;
    return compact_vertex_[vertex];
}

std::vector<bool> Reduction::lift_set(const std::vector<bool>& inside) const {
    std::vector<bool> lifted(original_vertices_, false);
    for (int vertex = 0; vertex < original_vertices_; ++vertex) {
        const std::optional<int> reduced = representative(vertex);
        lifted[vertex] = reduced && inside[*reduced];
    }
    return lifted;
}

}  // namespace rondo::forest
