// A proof, where there is one, that no choice of root shares beats equal ones.
#include "topology/forest/equal_shares.hpp"

#include <algorithm>

namespace rondo::forest {
namespace {

constexpr int no_part = -1;

/// Per terminal: the smallest full set around it.
std::vector<std::vector<bool>> full_sets(const Network& network, const Ratio& scale) {
    RootedFlow flow(network);
    for (int terminal = 0; terminal < network.terminals; ++terminal) {
        flow.set_root(terminal, scale.numerator);
    }
    for (std::size_t edge = 0; edge < network.edges.size(); ++edge) {
        const Units capacity = scale.denominator * network.edges[edge].capacity;
        flow.set_edge(static_cast<int>(edge), capacity, capacity);
    }
    std::vector<std::vector<bool>> sets;
    for (int terminal = 0; terminal < network.terminals; ++terminal) {
        flow.run(terminal, scale.numerator * network.terminals);
        sets.push_back(flow.sink_side(terminal));
    }
    return sets;
}

/// Terminals in a smallest full set form a part. A relay belongs to a part if it is in no other
/// one.
std::vector<int> parts_of(const Network& network, const std::vector<std::vector<bool>>& sets) {
    std::vector<int> part(network.vertices, no_part);
    for (int terminal = 0; terminal < network.terminals; ++terminal) {
        if (part[terminal] != no_part) continue;
        for (int other = 0; other < network.terminals; ++other) {
            if (sets[terminal][other] && sets[other][terminal]) part[other] = terminal;
        }
    }
    for (int relay = network.terminals; relay < network.vertices; ++relay) {
        int owners = 0;
        for (int terminal = 0; terminal < network.terminals; ++terminal) {
            if (part[terminal] != terminal || !sets[terminal][relay]) continue;
            part[relay] = terminal;
            ++owners;
        }
        if (owners != 1) part[relay] = no_part;
    }
    return part;
}

}  // namespace

std::vector<Rational> partition_prices(const Network& network, const Ratio& scale) {
    const std::vector<int> part = parts_of(network, full_sets(network, scale));
    std::vector<Rational> prices;
    for (const Edge& edge : network.edges) {
        const bool between = part[edge.a] != part[edge.b];
        const bool half = part[edge.a] == no_part || part[edge.b] == no_part;
        prices.push_back(!between ? Rational(0) : half ? Rational(1, 2) : Rational(1));
    }
    return prices;
}

}  // namespace rondo::forest
