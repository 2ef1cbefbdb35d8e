// Finds the cheapest shallow spanning tree for given edge prices: the pricing step of column
// generation.
#include "topology/forest/pricing.hpp"

#include <algorithm>
#include <limits>

namespace rondo::forest {
namespace {

constexpr double no_price = std::numeric_limits<double>::infinity();

/// Added to every edge, so that among equally cheap ways the one with fewer relays wins.
constexpr double per_hop = 1e-12;

}  // namespace

TreePricer::TreePricer(const Network& network)
    : network_(network),
      terminals_(network.terminals),
      incident_(network.incident_edges()),
      distance_(terminals_ * terminals_),
      last_step_(terminals_ * network.vertices),
      reach_(network.vertices),
      settled_(network.vertices) {}

void TreePricer::set_prices(const std::vector<double>& prices) {
    prices_ = prices;
    for (int terminal = 0; terminal < terminals_; ++terminal) search_from(terminal);
}

/// Dijkstra's algorithm; terminals are ends, never passed.
void TreePricer::search_from(int terminal) {
    std::ranges::fill(reach_, no_price);
    std::ranges::fill(settled_, 0);
    touched_.clear();
    reach_[terminal] = 0;
    int vertex = terminal;
    while (vertex >= 0) {
        settled_[vertex] = 1;
        for (const int edge : incident_[vertex]) {
            const int to = network_.edges[edge].other(vertex);
            const bool forward = network_.edges[edge].a == vertex;
            const double total = reach_[vertex] + prices_[2 * edge + (forward ? 0 : 1)] + per_hop;
            if (settled_[to] || total >= reach_[to]) continue;
            if (to >= terminals_ && reach_[to] == no_price) touched_.push_back(to);
            reach_[to] = total;
            last_step_[terminal * network_.vertices + to] = {edge, forward};
        }
        vertex = -1;
        for (const int relay : touched_) {
            if (!settled_[relay] && (vertex < 0 || reach_[relay] < reach_[vertex])) vertex = relay;
        }
    }
    std::copy_n(reach_.begin(), terminals_, distance_.begin() + terminal * terminals_);
}

void TreePricer::add_noise(double noise, std::mt19937& random) {
    guess_ = distance_;
    if (noise == 0) return;
    std::uniform_real_distribution<double> factor(1, 1 + noise);
    for (double& distance : guess_) distance *= factor(random);
}

/// Prim's algorithm that does not extend the deepest layer allowed.
bool TreePricer::grow_cheapest_first(int root, int depth) {
    parent_.assign(terminals_, root);
    depth_.assign(terminals_, -1);
    parent_[root] = -1;
    depth_[root] = 0;
    std::vector<double> offer(guess_.begin() + root * terminals_,
                              guess_.begin() + (root + 1) * terminals_);
    for (int placed = 1; placed < terminals_; ++placed) {
        int next = -1;
        for (int terminal = 0; terminal < terminals_; ++terminal) {
            if (depth_[terminal] >= 0 || offer[terminal] == no_price) continue;
            if (next < 0 || offer[terminal] < offer[next]) next = terminal;
        }
        if (next < 0) return false;
        depth_[next] = depth_[parent_[next]] + 1;
        if (depth_[next] == depth) continue;
        for (int terminal = 0; terminal < terminals_; ++terminal) {
            if (depth_[terminal] >= 0 || guess(next, terminal) >= offer[terminal]) continue;
            offer[terminal] = guess(next, terminal);
            parent_[terminal] = next;
        }
    }
    return true;
}

/// Breadth first: every terminal as early as possible, below the cheapest parent of the layer
/// before.
bool TreePricer::grow_by_layers(int root, int depth) {
    parent_.assign(terminals_, -1);
    depth_.assign(terminals_, -1);
    depth_[root] = 0;
    int placed = 1;
    for (int layer = 0; layer < depth && placed < terminals_; ++layer) {
        const int before = placed;
        for (int terminal = 0; terminal < terminals_; ++terminal) {
            if (depth_[terminal] >= 0) continue;
            int& best = parent_[terminal];
            for (int above = 0; above < terminals_; ++above) {
                if (depth_[above] != layer || guess(above, terminal) == no_price) continue;
                if (best < 0 || guess(above, terminal) < guess(best, terminal)) best = above;
            }
        }
        for (int terminal = 0; terminal < terminals_; ++terminal) {
            if (depth_[terminal] >= 0 || parent_[terminal] < 0) continue;
            depth_[terminal] = layer + 1;
            ++placed;
        }
        if (placed == before) return false;
    }
    return placed == terminals_;
}

/// Depth of every terminal and height of the subtree below it, from the parents.
void TreePricer::measure(int root) {
    depth_.assign(terminals_, 0);
    height_.assign(terminals_, 0);
    for (int terminal = 0; terminal < terminals_; ++terminal) {
        int steps = 0;
        for (int at = terminal; at != root; at = parent_[at]) {
            ++steps;
            height_[parent_[at]] = std::max(height_[parent_[at]], steps);
        }
        depth_[terminal] = steps;
    }
}

bool TreePricer::below(int vertex, int ancestor) const {
    while (vertex >= 0 && vertex != ancestor) vertex = parent_[vertex];
    return vertex == ancestor;
}

/// Moves the first subtree that has a cheaper parent within the depth.
bool TreePricer::move_one(int root, int depth) {
    for (int terminal = 0; terminal < terminals_; ++terminal) {
        if (terminal == root) continue;
        int best = parent_[terminal];
        for (int other = 0; other < terminals_; ++other) {
            if (distance(other, terminal) >= distance(best, terminal) - 1e-12) continue;
            if (depth_[other] + 1 + height_[terminal] > depth || below(other, terminal)) continue;
            best = other;
        }
        if (best == parent_[terminal]) continue;
        parent_[terminal] = best;
        return true;
    }
    return false;
}

void TreePricer::improve(int root, int depth) {
    measure(root);
    for (int moves = 0; moves < 2 * terminals_ && move_one(root, depth); ++moves) measure(root);
}

std::optional<PricedTree> TreePricer::cheapest(int root, int depth, double noise,
                                               std::mt19937& random) {
    add_noise(noise, random);
    if (!grow_cheapest_first(root, depth) && !grow_by_layers(root, depth)) return std::nullopt;
    if (depth < terminals_ - 1) improve(root, depth);
    PricedTree tree{.root = root, .cost = 0, .parent = parent_};
    for (int terminal = 0; terminal < terminals_; ++terminal) {
        if (terminal != root) tree.cost += distance(parent_[terminal], terminal);
    }
    return tree;
}

PackedTree TreePricer::with_paths(const PricedTree& tree) const {
    PackedTree packed{.root = tree.root};
    std::vector<int> queue{tree.root};
    for (std::size_t next = 0; next < queue.size(); ++next) {
        const int parent = queue[next];
        for (int child = 0; child < terminals_; ++child) {
            if (tree.parent[child] != parent) continue;
            PackedEdge edge{parent, child};
            for (int at = child; at != parent; at = network_.tail(edge.path.back())) {
                edge.path.push_back(last_step_[parent * network_.vertices + at]);
            }
            std::ranges::reverse(edge.path);
            packed.edges.push_back(std::move(edge));
            queue.push_back(child);
        }
    }
    return packed;
}

}  // namespace rondo::forest
