// The best throughput when every terminal is the root of a given share of the data.
#include "topology/forest/fixed_roots.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

namespace rondo::forest {
namespace {

std::optional<Ratio> limit_of(const Network& network, const std::vector<Units>& demand,
                              const std::vector<bool>& inside) {
    Units outside = 0;
    for (int terminal = 0; terminal < network.terminals; ++terminal) {
        if (!inside[terminal]) outside += demand[terminal];
    }
    if (outside == 0) return std::nullopt;
    Units capacity = 0;
    for (const Edge& edge : network.edges) {
        if (inside[edge.a] != inside[edge.b]) capacity += edge.capacity;
    }
    return Ratio::of(capacity, outside);
}

/// The tightest of the cuts around single terminals: where the search begins.
FixedRoots around_single_terminals(const Network& network, const std::vector<Units>& demand) {
    std::optional<FixedRoots> best;
    for (int terminal = 0; terminal < network.terminals; ++terminal) {
        std::vector<bool> inside(network.vertices, false);
        inside[terminal] = true;
        const std::optional<Ratio> limit = limit_of(network, demand, inside);
        if (limit && (!best || *limit < best->scale)) best = FixedRoots{*limit, inside};
    }
    return *best;
}

/// A cut that is tighter than the current one, if there is any: the tightest that one flow per
/// terminal finds.
bool tighten(const Network& network, const std::vector<Units>& demand, RootedFlow& flow,
             FixedRoots& current) {
    const auto [numerator, denominator] = current.scale;
    for (int terminal = 0; terminal < network.terminals; ++terminal) {
        flow.set_root(terminal, numerator * demand[terminal]);
    }
    for (std::size_t edge = 0; edge < network.edges.size(); ++edge) {
        const Units capacity = denominator * network.edges[edge].capacity;
        flow.set_edge(static_cast<int>(edge), capacity, capacity);
    }
    const Units enough = numerator * std::accumulate(demand.begin(), demand.end(), Units{0});
    bool found = false;
    for (int terminal = 0; terminal < network.terminals; ++terminal) {
        if (flow.run(terminal, enough) == enough) continue;
        const std::vector<bool> inside = flow.sink_side(terminal);
        const std::optional<Ratio> limit = limit_of(network, demand, inside);
        if (limit && *limit < current.scale) {
            current = {*limit, inside};
            found = true;
        }
    }
    return found;
}

}  // namespace

Ratio Ratio::of(Units numerator, Units denominator) {
    const Units common = greatest_common_divisor(numerator, denominator);
    return common == 0 ? Ratio{} : Ratio{numerator / common, denominator / common};
}

RootedFlow::RootedFlow(const Network& network)
    : source_(network.vertices), flow_(network.vertices + 1) {
    for (int terminal = 0; terminal < network.terminals; ++terminal) {
        root_arcs_.push_back(flow_.add_arc(source_, terminal));
    }
    for (const Edge& edge : network.edges) edge_arcs_.push_back(flow_.add_arc(edge.a, edge.b));
}

std::vector<bool> RootedFlow::sink_side(int terminal) const {
    std::vector<bool> side = flow_.far_source_side(terminal);
    side.pop_back();
    side.flip();
    return side;
}

FixedRoots best_fixed_roots(const Network& network, const std::vector<Units>& demand) {
    FixedRoots best = around_single_terminals(network, demand);
    RootedFlow flow(network);
    while (tighten(network, demand, flow, best)) {
    }
    return best;
}

}  // namespace rondo::forest
