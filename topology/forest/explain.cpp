// Says in words what limits the throughput of a forest.
#include <algorithm>
#include <numeric>
#include <sstream>

#include "topology/forest/forest.hpp"
#include "topology/forest/proof.hpp"

namespace rondo {
namespace {

using forest::PhysicalNetwork;

constexpr std::size_t most_listed = 4;

std::string gigabytes(const Rational& bytes_per_second) {
    std::ostringstream text;
    text.precision(5);
    text << bytes_per_second.convert_to<double>() / 1e9 << " GB/s";
    return text.str();
}

template <class Items, class Text>
std::string listed(const Items& items, const std::string& separator, Text text_of) {
    std::string text;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (i == most_listed && items.size() > most_listed + 1) {
            return text + " and " + std::to_string(items.size() - i) + " more";
        }
        text += (i == 0 ? "" : separator) + text_of(items[i]);
    }
    return text;
}

/// Groups of terminals between which the certificate charges nothing, as vertices.
std::vector<std::vector<int>> parts(const PhysicalNetwork& physical,
                                    const std::vector<Rational>& prices) {
    std::vector<int> label(physical.network.vertices);
    std::iota(label.begin(), label.end(), 0);
    for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t edge = 0; edge < prices.size(); ++edge) {
            const auto [a, b, unused] = physical.network.edges[edge];
            if (prices[edge] != 0 || label[a] == label[b]) continue;
            label[a] = label[b] = std::min(label[a], label[b]);
            changed = true;
        }
    }
    std::vector<std::vector<int>> result;
    for (int first = 0; first < physical.network.vertices; ++first) {
        std::vector<int> part;
        for (int terminal = 0; terminal < physical.network.terminals; ++terminal) {
            if (label[terminal] == first) part.push_back(terminal);
        }
        if (!part.empty()) result.push_back(std::move(part));
    }
    return result;
}

class Explanation {
public:
    Explanation(const Topology& topology, const ForestRequest& request, const Bound& bound)
        : topology_(topology),
          bound_(bound),
          demand_(forest::resolve(topology, request)),
          physical_(forest::make_network(topology, request)) {}

    std::string text() const { return demand_.free_roots ? by_prices() : by_cut(); }

private:
    std::string id(int vertex) const { return topology_.nodes()[physical_.node_of[vertex]].id; }

    std::string braces(const std::vector<int>& vertices) const {
        return "{" + listed(vertices, " ", [&](int vertex) { return id(vertex); }) + "}";
    }

    std::string by_prices() const {
        std::vector<Rational> prices = forest::edge_prices(physical_, bound_.certificate);
        const auto groups = parts(physical_, prices);
        const Rational hops = Rational(groups.size()) - 1;
        const Rational tree = forest::cheapest_tree(physical_.network, prices);
        for (Rational& price : prices) price *= hops / tree;
        Rational worth = 0;
        bool halves = false;
        bool plain = true;
        for (std::size_t edge = 0; edge < prices.size(); ++edge) {
            worth += prices[edge] * forest::to_rational(physical_.network.edges[edge].capacity);
            halves = halves || prices[edge] == Rational(1, 2);
            plain =
                plain && (prices[edge] == 0 || prices[edge] == 1 || prices[edge] == Rational(1, 2));
        }
        std::string text = "The " + std::to_string(groups.size()) + " parts " +
                           listed(groups, " ", [&](const auto& part) { return braces(part); }) +
                           " are joined by links that carry " + gigabytes(worth) + " each way";
        if (!plain) {
            text += " (each link counted by how much a hop needs of it)";
        } else if (halves) {
            text += " (links to a switch between the parts count half: a hop takes two)";
        }
        text += "; every tree needs at least " + hops.str() + (hops == 1 ? " hop" : " hops") +
                " between parts";
        return text + ", so no all_reduce exceeds " + gigabytes(bound_.proven) + ".";
    }

    std::string by_cut() const {
        const std::vector<bool> inside = forest::inside_of(physical_, bound_.certificate);
        forest::Units capacity = 0;
        for (const forest::Edge& edge : physical_.network.edges) {
            if (inside[edge.a] != inside[edge.b]) capacity += edge.capacity;
        }
        std::vector<int> terminals;
        forest::Units outside = 0;
        for (int terminal = 0; terminal < physical_.network.terminals; ++terminal) {
            if (inside[terminal]) {
                terminals.push_back(terminal);
            } else {
                outside += demand_.shares[terminal];
            }
        }
        const Rational part = forest::to_rational(outside) / forest::to_rational(demand_.whole);
        std::string text = braces(terminals) + " can take in and send out " +
                           gigabytes(forest::to_rational(capacity));
        text += "; " + (part == 1 ? "all" : part.str()) +
                " of the data belongs to roots elsewhere and has to cross";
        if (demand_.phases == 2) text += " both ways, one after the other";
        return text + ", so the throughput is at most " + gigabytes(bound_.proven) + ".";
    }

    const Topology& topology_;
    const Bound& bound_;
    forest::Demand demand_;
    PhysicalNetwork physical_;
};

}  // namespace

std::string explain_bound(const Topology& topology, const ForestRequest& request,
                          const Bound& bound) {
    if (bound.unlimited) return "One GPU alone uses no links.";
    std::string text = Explanation(topology, request, bound).text();
    if (!bound.symmetric) {
        text += " Some links are slower in one direction; they count with the slower one.";
    }
    if (!bound.note.empty()) {
        text += " Reached: " + gigabytes(bound.throughput) + ", because " + bound.note + ".";
    }
    return text;
}

}  // namespace rondo
