// gather and scatter are one flow into or out of the root, and links carry the same both ways:
// discrete Newton steps on its minimum cut. all_to_all: what must cross a cut grows with the
// product of its sides.
#include "topology/forest/exchange_bound.hpp"

#include <algorithm>

#include "topology/forest/fixed_roots.hpp"
#include "topology/forest/max_flow.hpp"
#include "topology/forest/network.hpp"

namespace rondo {
namespace {

using namespace forest;

/// GPUs up to which every cut is looked at, and up to which those around neighbours are.
constexpr int few_gpus = 10;
constexpr int some_gpus = 32;

struct TightestCut {
    Ratio scale;  ///< what every part may have, per second
    std::vector<bool> inside = {};
};

Units capacity_of(const Network& network, const std::vector<bool>& inside) {
    Units capacity = 0;
    for (const Edge& edge : network.edges) {
        if (inside[edge.a] != inside[edge.b]) capacity += edge.capacity;
    }
    return capacity;
}

int terminals_in(const Network& network, const std::vector<bool>& inside) {
    return static_cast<int>(std::count(inside.begin(), inside.begin() + network.terminals, true));
}

/// Everybody else sends to the root.
TightestCut tightest_around(const Network& network, int root) {
    TightestCut best{{}, std::vector<bool>(network.vertices)};
    best.inside[root] = true;
    best.scale = Ratio::of(capacity_of(network, best.inside), network.terminals - 1);
    RootedFlow flow(network);
    while (true) {
        const auto [numerator, denominator] = best.scale;
        for (int terminal = 0; terminal < network.terminals; ++terminal) {
            flow.set_root(terminal, terminal == root ? 0 : numerator);
        }
        for (std::size_t edge = 0; edge < network.edges.size(); ++edge) {
            const Units capacity = denominator * network.edges[edge].capacity;
            flow.set_edge(static_cast<int>(edge), capacity, capacity);
        }
        const Units enough = numerator * (network.terminals - 1);
        if (flow.run(root, enough) == enough) return best;
        best.inside = flow.sink_side(root);
        const int outside = network.terminals - terminals_in(network, best.inside);
        best.scale = Ratio::of(capacity_of(network, best.inside), outside);
    }
}

class PairCuts {
public:
    explicit PairCuts(const Network& network)
        : network_(network), source_(network.vertices), flow_(network.vertices + 2) {
        for (const Edge& edge : network.edges) {
            total_ += edge.capacity;
            flow_.add_arc(edge.a, edge.b, edge.capacity, edge.capacity);
        }
        for (int terminal = 0; terminal < network.terminals; ++terminal) {
            from_.push_back(flow_.add_arc(source_, terminal));
            to_.push_back(flow_.add_arc(terminal, source_ + 1));
        }
    }

    TightestCut run() {
        const int count = network_.terminals;
        for (int terminal = 0; terminal < count; ++terminal) {
            std::vector<int> sides(count, -1);
            sides[terminal] = 1;
            look_at(sides);
        }
        if (count <= few_gpus) {
            for (unsigned set = 1; set + 1 < 1u << (count - 1); ++set) {
                std::vector<int> sides(count, -1);
                for (int terminal = 0; terminal < count; ++terminal) {
                    if ((set >> terminal & 1) != 0) sides[terminal] = 1;
                }
                look_at(sides);
            }
            return best_;
        }
        for (int a = 0; a < count; ++a) {
            for (int b = a + 1; b < count; ++b) {
                std::vector<int> sides(count, 0);
                sides[a] = 1;
                sides[b] = -1;
                look_at(sides);
            }
        }
        if (count <= some_gpus) look_around_neighbours();
        return best_;
    }

private:
    /// GPUs with numbers in a row: nodes, sockets and boards are mostly such.
    void look_around_neighbours() {
        for (int first = 0; first < network_.terminals; ++first) {
            std::vector<int> sides(network_.terminals, -1);
            for (int last = first; last < network_.terminals; ++last) {
                sides[last] = 1;
                if (last > first) look_at(sides);
            }
        }
    }

    /// 1: inside, -1: outside, 0: wherever the cut is smallest.
    void look_at(const std::vector<int>& sides) {
        for (std::size_t i = 0; i < sides.size(); ++i) {
            flow_.set(from_[i], sides[i] > 0 ? total_ + 1 : 0);
            flow_.set(to_[i], sides[i] < 0 ? total_ + 1 : 0);
        }
        flow_.run(source_, source_ + 1, 2 * total_ + 2);
        std::vector<bool> inside(network_.vertices);
        for (int vertex = 0; vertex < network_.vertices; ++vertex) {
            inside[vertex] = flow_.on_source_side(vertex);
        }
        const int within = terminals_in(network_, inside);
        if (within == 0 || within == network_.terminals) return;
        const Ratio scale =
            Ratio::of(capacity_of(network_, inside), Units{within} * (network_.terminals - within));
        if (best_.inside.empty() || scale < best_.scale) best_ = {scale, std::move(inside)};
    }

    const Network& network_;
    const int source_;
    MaxFlow flow_;
    std::vector<int> from_;
    std::vector<int> to_;
    Units total_ = 0;
    TightestCut best_;
};

}  // namespace

ExchangeBound exchange_bound(const Topology& topology, const ForestRequest& request,
                             ExchangeKind kind) {
    const std::vector<int> gpus = allocated_gpus(topology, request);
    if (gpus.size() == 1) return {.unlimited = true, .throughput = {}, .exact = true};
    const PhysicalNetwork physical = make_network(topology, request);
    const bool paired = kind == ExchangeKind::all_to_all;
    const auto root = std::ranges::find(gpus, request.root);
    if (!paired && root == gpus.end()) {
        throw ForestError("the root, GPU " + std::to_string(request.root) +
                          ", is not in the allocation");
    }
    const TightestCut cut =
        paired ? PairCuts(physical.network).run()
               : tightest_around(physical.network, static_cast<int>(root - gpus.begin()));
    ExchangeBound bound{.throughput = cut.scale.value(), .exact = !paired};
    bound.throughput *= static_cast<int>(paired ? gpus.size() * gpus.size() : gpus.size());
    for (std::size_t vertex = 0; vertex < cut.inside.size(); ++vertex) {
        if (cut.inside[vertex]) bound.inside.push_back(physical.node_of[vertex]);
    }
    return bound;
}

}  // namespace rondo
