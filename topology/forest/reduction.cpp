// The operations that make a network smaller.
#include "topology/forest/reduction.hpp"

#include <algorithm>
#include <numeric>

namespace rondo::forest {

Reduction::Reduction(const Network& original)
    : terminals_(original.terminals),
      original_vertices_(original.vertices),
      original_edges_(static_cast<int>(original.edges.size())),
      edges_(original.edges),
      made_by_(original.edges.size(), -1),
      incident_(original.incident_edges()),
      follows_(original.vertices) {
    std::iota(follows_.begin(), follows_.end(), 0);
    drop_unreachable();
    while (drop_dead_end() || join_parallel() || replace_series() || collapse_trunk() ||
           merge_planes()) {
    }
    compact();
}

void Reduction::drop_unreachable() {
    std::vector<int> queue{0};
    std::vector<bool> reached(incident_.size(), false);
    reached[0] = true;
    for (std::size_t next = 0; next < queue.size(); ++next) {
        for (const int edge : incident_[queue[next]]) {
            const int other = edges_[edge].other(queue[next]);
            if (reached[other]) continue;
            reached[other] = true;
            queue.push_back(other);
        }
    }
    for (std::size_t vertex = 0; vertex < reached.size(); ++vertex) {
        if (reached[vertex]) continue;
        incident_[vertex].clear();
        follows_[vertex] = -1;
    }
}

bool Reduction::drop_dead_end() {
    bool changed = false;
    for (int vertex = terminals_; vertex < static_cast<int>(incident_.size()); ++vertex) {
        if (follows_[vertex] != vertex || incident_[vertex].size() != 1) continue;
        const int edge = incident_[vertex].front();
        follows_[vertex] = edges_[edge].other(vertex);
        remove_edge(edge);
        changed = true;
    }
    return changed;
}

bool Reduction::join_parallel() {
    for (std::size_t vertex = 0; vertex < incident_.size(); ++vertex) {
        std::vector<int> parts = incident_[vertex];
        const auto other = [&](int edge) { return edges_[edge].other(static_cast<int>(vertex)); };
        std::ranges::stable_sort(parts, {}, other);
        const auto twin = std::ranges::adjacent_find(parts, {}, other);
        if (twin == parts.end()) continue;
        std::erase_if(parts, [&, far = other(*twin)](int edge) { return other(edge) != far; });
        Edge whole{static_cast<int>(vertex), other(parts.front()), 0};
        for (const int part : parts) whole.capacity += edges_[part].capacity;
        Operation operation{.kind = Kind::parallel};
        for (const int part : parts) {
            operation.shares.push_back(to_rational(edges_[part].capacity) /
                                       to_rational(whole.capacity));
        }
        add_edge(operation, whole, parts);
        finish(std::move(operation));
        return true;
    }
    return false;
}

bool Reduction::replace_series() {
    for (int vertex = terminals_; vertex < static_cast<int>(incident_.size()); ++vertex) {
        if (incident_[vertex].size() != 2) continue;
        const int first = incident_[vertex][0];
        const int second = incident_[vertex][1];
        const bool first_wider = edges_[first].capacity >= edges_[second].capacity;
        follows_[vertex] = edges_[first_wider ? first : second].other(vertex);
        Operation operation{.kind = Kind::series, .relays = {vertex}};
        add_edge(operation,
                 {edges_[first].other(vertex), edges_[second].other(vertex),
                  std::min(edges_[first].capacity, edges_[second].capacity)},
                 {first, second});
        finish(std::move(operation));
        return true;
    }
    return false;
}

/// What can enter or leave a vertex by all edges but one.
Units Reduction::capacity_at(int vertex, int except) const {
    Units total = 0;
    for (const int edge : incident_[vertex]) {
        if (edge != except) total += edges_[edge].capacity;
    }
    return total;
}

bool Reduction::collapse_trunk() {
    for (int vertex = terminals_; vertex < static_cast<int>(incident_.size()); ++vertex) {
        for (const int edge : incident_[vertex]) {
            const int other = edges_[edge].other(vertex);
            if (!relay(other)) continue;
            if (edges_[edge].capacity <
                std::min(capacity_at(vertex, edge), capacity_at(other, edge))) {
                continue;
            }
            join_trunk(edge);
            return true;
        }
    }
    return false;
}

void Reduction::join_trunk(int trunk) {
    const auto [a, b, capacity] = edges_[trunk];
    Operation operation{.kind = Kind::trunk, .relays = {a, b}, .trunk = trunk};
    remove_edge(trunk);
    const int joined = add_vertex();
    for (const int side : {a, b}) {
        follows_[side] = joined;
        for (const int edge : std::vector<int>(incident_[side])) {
            add_edge(operation, {edges_[edge].other(side), joined, edges_[edge].capacity}, {edge});
        }
    }
    finish(std::move(operation));
}

/// Whether two relays have the same neighbours and their capacities have one ratio.
bool Reduction::proportional(int first, int second) const {
    if (incident_[first].size() != incident_[second].size()) return false;
    const auto neighbours = [&](int vertex) {
        std::vector<std::pair<int, Units>> result;
        for (const int edge : incident_[vertex]) {
            result.emplace_back(edges_[edge].other(vertex), edges_[edge].capacity);
        }
        std::ranges::sort(result);
        return result;
    };
    const auto left = neighbours(first);
    const auto right = neighbours(second);
    for (std::size_t i = 0; i < left.size(); ++i) {
        if (left[i].first != right[i].first) return false;
        if (left[i].second * right[0].second != right[i].second * left[0].second) return false;
    }
    return true;
}

bool Reduction::merge_planes() {
    for (int vertex = terminals_; vertex < static_cast<int>(incident_.size()); ++vertex) {
        if (!incident_[vertex].empty() && merge_planes_like(vertex)) return true;
    }
    return false;
}

bool Reduction::merge_planes_like(int first) {
    std::vector<int> planes{first};
    for (int vertex = first + 1; vertex < static_cast<int>(incident_.size()); ++vertex) {
        if (!incident_[vertex].empty() && proportional(first, vertex)) planes.push_back(vertex);
    }
    if (planes.size() == 1) return false;
    Operation operation{.kind = Kind::planes, .relays = planes};
    const int joined = add_vertex();
    Units whole = 0;
    for (const int plane : planes) whole += capacity_at(plane, -1);
    for (const int plane : planes) {
        follows_[plane] = joined;
        operation.shares.push_back(to_rational(capacity_at(plane, -1)) / to_rational(whole));
    }
    for (const int edge : std::vector<int>(incident_[first])) {
        const int neighbour = edges_[edge].other(first);
        Edge bundle{neighbour, joined, 0};
        std::vector<int> parts;
        for (const int plane : planes) {
            const auto part = std::ranges::find(incident_[plane], neighbour,
                                                [&](int e) { return edges_[e].other(plane); });
            parts.push_back(*part);
            bundle.capacity += edges_[*part].capacity;
        }
        add_edge(operation, bundle, parts);
    }
    finish(std::move(operation));
    return true;
}

int Reduction::add_vertex() {
    incident_.emplace_back();
    follows_.push_back(static_cast<int>(follows_.size()));
    return follows_.back();
}

/// The new edge takes the place of its parts at once.
int Reduction::add_edge(Operation& operation, Edge edge, std::vector<int> parts) {
    for (const int part : parts) remove_edge(part);
    const int index = static_cast<int>(edges_.size());
    edges_.push_back(edge);
    made_by_.push_back(static_cast<int>(operations_.size()));
    incident_[edge.a].push_back(index);
    incident_[edge.b].push_back(index);
    operation.edges.emplace_back(index, std::move(parts));
    return index;
}

void Reduction::remove_edge(int edge) {
    std::erase(incident_[edges_[edge].a], edge);
    std::erase(incident_[edges_[edge].b], edge);
}

void Reduction::finish(Operation operation) {
    operations_.push_back(std::move(operation));
}

void Reduction::compact() {
    compact_vertex_.assign(incident_.size(), -1);
    reduced_.terminals = terminals_;
    for (int vertex = 0; vertex < static_cast<int>(incident_.size()); ++vertex) {
        if (relay(vertex) && incident_[vertex].empty()) continue;
        compact_vertex_[vertex] = reduced_.vertices++;
    }
    for (int vertex = 0; vertex < static_cast<int>(incident_.size()); ++vertex) {
        for (const int edge : incident_[vertex]) {
            if (edges_[edge].a != vertex) continue;
            const Edge& full = edges_[edge];
            reduced_.edges.push_back(
                {compact_vertex_[full.a], compact_vertex_[full.b], full.capacity});
            original_edge_.push_back(edge);
        }
    }
}

}  // namespace rondo::forest
