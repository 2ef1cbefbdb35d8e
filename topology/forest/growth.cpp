// Grows one shallow tree that respects the capacities and all cuts known so far.
#include "topology/forest/growth.hpp"

#include <algorithm>
#include <limits>

namespace rondo::forest {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// No tree makes more entries than this, so larger allowances need no exact value.
constexpr Units plenty = 1 << 20;

}  // namespace

Growth::Growth(const Packing& packing, const KnownCuts& cuts)
    : packing_(packing),
      network_(*packing.network),
      cuts_(cuts),
      incident_(packing.network->incident_edges()) {}

void Growth::start(int root, const GrowthLimits& limits, std::mt19937& random) {
    limits_ = limits;
    tree_ = {.root = root};
    reached_.assign(network_.terminals, false);
    reached_[root] = true;
    load_.assign(packing_.capacity.size(), 0);
    allowance_.clear();
    for (const Cut& cut : cuts_.all()) {
        Units extra = cut.slack / limits.weight;
        if (limits.fairness > 0) {
            extra = std::min(extra, limits.fairness * cut.slack / packing_.total);
        }
        const int necessary = cut.inside[root] ? 0 : 1;
        allowance_.push_back(necessary + static_cast<int>(std::min(extra, plenty)));
    }
    std::uniform_real_distribution<double> little(0.0, 0.01);
    taste_.resize(network_.edges.size());
    for (double& taste : taste_) taste = little(random);
}

bool Growth::fits(Step step) const {
    const int slot = packing_.slot(step);
    if (packing_.capacity[slot] < limits_.weight * (load_[slot] + 1)) return false;
    return std::ranges::all_of(cuts_.entered_by(step),
                               [&](int cut) { return allowance_[cut] > 0; });
}

/// The part of what is left of an edge that the tree would use, so that traffic spreads.
double Growth::cost(Step step) const {
    const int slot = packing_.slot(step);
    const double used = static_cast<double>(limits_.weight) * (load_[slot] + 1);
    return 0.01 + taste_[step.edge] + used / static_cast<double>(packing_.capacity[slot]);
}

void Growth::relax(int vertex, Step step) {
    const int to = network_.head(step);
    if (to < network_.terminals && reached_[to]) return;
    if (reach_[to].settled || !fits(step)) return;
    const double total = (vertex < network_.terminals ? 0 : reach_[vertex].cost) + cost(step);
    if (total >= reach_[to].cost) return;
    if (reach_[to].cost == never) touched_.push_back(to);
    reach_[to].cost = total;
    reach_[to].last = step;
}

/// Cheapest ways from a terminal through relays to everything not reached yet.
void Growth::search(int from) {
    reach_.assign(network_.vertices, {.cost = never});
    touched_.clear();
    int vertex = from;
    while (vertex >= 0) {
        for (const int edge : incident_[vertex]) {
            relax(vertex, {edge, network_.edges[edge].a == vertex});
        }
        vertex = -1;
        for (const int candidate : touched_) {
            if (candidate < network_.terminals || reach_[candidate].settled) continue;
            if (vertex < 0 || reach_[candidate].cost < reach_[vertex].cost) vertex = candidate;
        }
        if (vertex >= 0) reach_[vertex].settled = true;
    }
}

std::optional<PackedEdge> Growth::nearest(int from) {
    search(from);
    std::erase_if(touched_, [&](int vertex) { return vertex >= network_.terminals; });
    std::ranges::sort(touched_, {}, [&](int vertex) { return reach_[vertex].cost; });
    for (const int terminal : touched_) {
        PackedEdge edge{from, terminal};
        for (int at = terminal; at != from; at = network_.tail(edge.path.back())) {
            edge.path.push_back(reach_[at].last);
        }
        std::ranges::reverse(edge.path);
        if (allowed(edge.path)) return edge;
    }
    return std::nullopt;
}

/// Steps fit one by one; together they may enter the same set too often.
bool Growth::allowed(const Path& path) {
    bool all_fit = true;
    std::size_t counted = 0;
    for (; counted < path.size() && all_fit; ++counted) {
        all_fit = fits(path[counted]);
        count(path[counted], 1);
    }
    while (counted > 0) count(path[--counted], -1);
    return all_fit;
}

void Growth::count(Step step, int amount) {
    load_[packing_.slot(step)] += amount;
    for (const int cut : cuts_.entered_by(step)) allowance_[cut] -= amount;
}

void Growth::attach(PackedEdge edge) {
    for (const Step step : edge.path) count(step, 1);
    reached_[edge.child] = true;
    tree_.edges.push_back(std::move(edge));
}

std::optional<PackedTree> Growth::grow(int root, const GrowthLimits& limits, std::mt19937& random) {
    start(root, limits, random);
    const std::size_t wanted = network_.terminals - 1;
    std::vector<int> queue{root};
    for (std::size_t next = 0; next < queue.size() && tree_.edges.size() < wanted; ++next) {
        while (std::optional<PackedEdge> edge = nearest(queue[next])) {
            queue.push_back(edge->child);
            attach(std::move(*edge));
        }
    }
    if (tree_.edges.size() < wanted) return std::nullopt;
    return std::move(tree_);
}

}  // namespace rondo::forest
