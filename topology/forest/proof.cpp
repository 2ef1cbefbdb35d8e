// Upper bounds on throughput that follow from a certificate, computed on the network as the
// topology has it.
#include "topology/forest/proof.hpp"

#include <algorithm>
#include <map>
#include <optional>

namespace rondo::forest {
namespace {

using Integer = boost::multiprecision::cpp_int;
using Distance = std::optional<Integer>;  ///< none: not reached

/// Whole numbers in the proportion of the prices, and what 1 stands for.
struct ScaledPrices {
    std::vector<Integer> prices;
    Integer unit = 1;
};

ScaledPrices scaled(const std::vector<Rational>& prices) {
    ScaledPrices result;
    for (const Rational& price : prices) result.unit = lcm(result.unit, denominator(price));
    for (const Rational& price : prices) {
        result.prices.push_back(numerator(price) * (result.unit / denominator(price)));
    }
    return result;
}

/// Cheapest ways from a terminal to the others that pass relays only.
std::vector<Distance> distances_from(const Network& network,
                                     const std::vector<std::vector<int>>& incident,
                                     const std::vector<Integer>& prices, int terminal) {
    std::vector<Distance> reach(network.vertices);
    std::vector<bool> settled(network.vertices, false);
    reach[terminal] = 0;
    int vertex = terminal;
    while (vertex >= 0) {
        settled[vertex] = true;
        for (const int edge : incident[vertex]) {
            const int to = network.edges[edge].other(vertex);
            if (settled[to]) continue;
            Integer total = *reach[vertex] + prices[edge];
            if (!reach[to] || total < *reach[to]) reach[to] = std::move(total);
        }
        vertex = -1;
        for (int relay = network.terminals; relay < network.vertices; ++relay) {
            if (settled[relay] || !reach[relay]) continue;
            if (vertex < 0 || *reach[relay] < *reach[vertex]) vertex = relay;
        }
    }
    reach.resize(network.terminals);
    return reach;
}

}  // namespace

Rational cheapest_tree(const Network& network, const std::vector<Rational>& prices) {
    const ScaledPrices whole = scaled(prices);
    const auto incident = network.incident_edges();
    std::vector<bool> joined(network.terminals, false);
    std::vector<Distance> offer(network.terminals);
    offer[0] = 0;
    Integer cost = 0;
    for (int count = 0; count < network.terminals; ++count) {
        int next = -1;
        for (int terminal = 0; terminal < network.terminals; ++terminal) {
            if (joined[terminal] || !offer[terminal]) continue;
            if (next < 0 || *offer[terminal] < *offer[next]) next = terminal;
        }
        if (next < 0) return 0;
        joined[next] = true;
        cost += *offer[next];
        const auto distances = distances_from(network, incident, whole.prices, next);
        for (int terminal = 0; terminal < network.terminals; ++terminal) {
            const Distance& distance = distances[terminal];
            if (distance && (!offer[terminal] || *distance < *offer[terminal])) {
                offer[terminal] = distance;
            }
        }
    }
    return Rational(cost) / Rational(whole.unit);
}

Rational bound_by_prices(const Network& network, const std::vector<Rational>& prices) {
    const Rational tree = cheapest_tree(network, prices);
    if (tree == 0) return 0;
    Rational worth = 0;
    for (std::size_t edge = 0; edge < prices.size(); ++edge) {
        if (prices[edge] != 0) worth += to_rational(network.edges[edge].capacity) * prices[edge];
    }
    return worth / tree;
}

Rational bound_by_cut(const Network& network, const Demand& demand,
                      const std::vector<bool>& inside) {
    Units outside = 0;
    bool holds_terminal = false;
    for (int terminal = 0; terminal < network.terminals; ++terminal) {
        if (inside[terminal]) {
            holds_terminal = true;
        } else {
            outside += demand.shares[terminal];
        }
    }
    if (outside == 0 || !holds_terminal) return 0;
    Units capacity = 0;
    for (const Edge& edge : network.edges) {
        if (inside[edge.a] != inside[edge.b]) capacity += edge.capacity;
    }
    return to_rational(capacity * demand.whole) / to_rational(outside * demand.phases);
}

Certificate price_certificate(const PhysicalNetwork& physical,
                              const std::vector<Rational>& prices) {
    Certificate certificate;
    for (std::size_t edge = 0; edge < prices.size(); ++edge) {
        if (prices[edge] == 0) continue;
        const auto [a, b, unused] = physical.network.edges[edge];
        certificate.prices.push_back({physical.node_of[a], physical.node_of[b], prices[edge]});
    }
    return certificate;
}

Certificate cut_certificate(const PhysicalNetwork& physical, const std::vector<bool>& inside) {
    Certificate certificate;
    for (int vertex = 0; vertex < physical.network.vertices; ++vertex) {
        if (inside[vertex]) certificate.entered.push_back(physical.node_of[vertex]);
    }
    std::ranges::sort(certificate.entered);
    return certificate;
}

std::vector<Rational> edge_prices(const PhysicalNetwork& physical, const Certificate& certificate) {
    std::map<std::pair<int, int>, std::size_t> edge_between;
    for (std::size_t edge = 0; edge < physical.network.edges.size(); ++edge) {
        const auto [a, b, unused] = physical.network.edges[edge];
        edge_between[std::minmax(physical.node_of[a], physical.node_of[b])] = edge;
    }
    std::vector<Rational> prices(physical.network.edges.size(), 0);
    for (const Certificate::Price& entry : certificate.prices) {
        const auto edge = edge_between.find(std::minmax(entry.node, entry.other));
        if (edge == edge_between.end()) {
            throw ForestError("the certificate prices a link between nodes " +
                              std::to_string(entry.node) + " and " + std::to_string(entry.other) +
                              ", which the request can't use");
        }
        if (entry.price < 0) throw ForestError("the certificate has a negative price");
        prices[edge->second] = entry.price;
    }
    return prices;
}

std::vector<bool> inside_of(const PhysicalNetwork& physical, const Certificate& certificate) {
    std::vector<bool> inside(physical.network.vertices, false);
    for (const int node : certificate.entered) {
        const auto vertex = std::ranges::find(physical.node_of, node);
        if (vertex == physical.node_of.end()) {
            throw ForestError("the certificate names node " + std::to_string(node) +
                              ", which the request can't use");
        }
        inside[vertex - physical.node_of.begin()] = true;
    }
    return inside;
}

}  // namespace rondo::forest

namespace rondo {

Rational proven_bound(const Topology& topology, const ForestRequest& request,
                      const Certificate& certificate) {
    const forest::Demand demand = forest::resolve(topology, request);
    const forest::PhysicalNetwork physical = forest::make_network(topology, request);
    const Rational bound =
        demand.free_roots
            ? forest::bound_by_prices(physical.network, forest::edge_prices(physical, certificate))
            : forest::bound_by_cut(physical.network, demand,
                                   forest::inside_of(physical, certificate));
    if (bound == 0) throw ForestError("the certificate proves no bound");
    return bound;
}

}  // namespace rondo
