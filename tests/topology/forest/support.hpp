// Small machines, random machines and slow but obvious answers for the forest tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "topology/forest/forest.hpp"
#include "topology/forest/network.hpp"

namespace rondo::testing {

constexpr std::int64_t giga = 1'000'000'000;

/// Both directions of a link between two nodes, bytes per second.
struct Wire {
    int a = 0;
    int b = 0;
    std::int64_t bandwidth = 0;
    LinkKind kind = LinkKind::nvlink;
};

inline Link one_way(int source, int target, std::int64_t bandwidth,
                    LinkKind kind = LinkKind::nvlink) {
    Link link;
    link.source = source;
    link.target = target;
    link.kind = kind;
    link.nominal = bandwidth;
    link.nccl = bandwidth;
    return link;
}

/// GPUs "g0", "g1", ... are the first nodes, then come the switches "s0", "s1", ...
inline Topology machine_of_links(int gpus, int switches, std::vector<Link> links) {
    std::vector<Node> nodes;
    for (int i = 0; i < gpus + switches; ++i) {
        Node node;
        node.id = i < gpus ? "g" + std::to_string(i) : "s" + std::to_string(i - gpus);
        node.type = i < gpus ? NodeType::gpu : NodeType::network_switch;
        nodes.push_back(node);
    }
    return Topology("test machine", std::move(nodes), std::move(links));
}

inline Topology machine(int gpus, int switches, const std::vector<Wire>& wires) {
    std::vector<Link> links;
    for (const Wire& wire : wires) {
        links.push_back(one_way(wire.a, wire.b, wire.bandwidth, wire.kind));
        links.push_back(one_way(wire.b, wire.a, wire.bandwidth, wire.kind));
    }
    return machine_of_links(gpus, switches, std::move(links));
}

inline double gigabytes(const Rational& value) {
    return value.convert_to<double>() / 1e9;
}

/// Builds, verifies and returns a forest that reaches its bound.
inline Forest checked_forest(const Topology& topology, const ForestRequest& request) {
    Forest forest = build_forest(topology, request);
    EXPECT_EQ(verify_forest(topology, request, forest), std::nullopt);
    return forest;
}

inline std::string error_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const ForestError& error) {
        return error.what();
    }
    ADD_FAILURE() << "no ForestError was thrown";
    return "";
}

/// All partitions of 0 .. count-1, as part numbers per element.
inline void for_each_partition(int count,
                               const std::function<void(const std::vector<int>&, int)>& visit) {
    std::vector<int> part(count, 0);
    const std::function<void(int, int)> place = [&](int element, int parts) {
        if (element == count) {
            visit(part, parts);
            return;
        }
        for (int choice = 0; choice <= parts; ++choice) {
            part[element] = choice;
            place(element + 1, std::max(parts, choice + 1));
        }
    };
    place(0, 0);
}

/// Tutte and Nash-Williams, by looking at every partition.
inline Rational strength_by_brute_force(const forest::Network& network) {
    std::optional<Rational> best;
    for_each_partition(network.vertices, [&](const std::vector<int>& part, int parts) {
        if (parts < 2) return;
        forest::Units between = 0;
        for (const forest::Edge& edge : network.edges) {
            if (part[edge.a] != part[edge.b]) between += edge.capacity;
        }
        const Rational value = forest::to_rational(between) / (parts - 1);
        if (!best || value < *best) best = value;
    });
    return *best;
}

/// The tightest cut around a set of vertices that holds a terminal, by looking at every set.
inline Rational scale_by_brute_force(const forest::Network& network,
                                     const std::vector<forest::Units>& shares) {
    std::optional<Rational> best;
    for (unsigned set = 1; set < 1u << network.vertices; ++set) {
        const auto inside = [&](int vertex) { return (set >> vertex & 1) != 0; };
        forest::Units outside = 0;
        bool holds_terminal = false;
        for (int terminal = 0; terminal < network.terminals; ++terminal) {
            if (!inside(terminal)) outside += shares[terminal];
            holds_terminal = holds_terminal || inside(terminal);
        }
        if (!holds_terminal || outside == 0) continue;
        forest::Units capacity = 0;
        for (const forest::Edge& edge : network.edges) {
            if (inside(edge.a) != inside(edge.b)) capacity += edge.capacity;
        }
        const Rational value = forest::to_rational(capacity) / forest::to_rational(outside);
        if (!best || value < *best) best = value;
    }
    return *best;
}

/// Random integers that are the same with every standard library.
class Dice {
public:
    explicit Dice(unsigned seed) : generator_(seed) {}

    int between(int low, int high) {
        return low + static_cast<int>(generator_() % static_cast<unsigned>(high - low + 1));
    }
    bool chance(int percent) { return between(1, 100) <= percent; }

    /// Links of one, two or many speeds, from bytes to terabytes per second.
    std::int64_t bandwidth(int style) {
        switch (style) {
            case 0:
                return between(1, 3);
            case 1:
                return between(1, 50) * giga;
            case 2:
                return chance(50) ? 15'754'000'000 : 25 * giga;
            default:
                return 1 +
                       static_cast<std::int64_t>(generator_() % 1'000'000'007u) * between(1, 1000);
        }
    }

private:
    std::mt19937 generator_;
};

/// A connected network: a random tree and some more edges.
inline forest::Network random_network(Dice& dice, int terminals, int relays) {
    forest::Network network{terminals, terminals + relays, {}};
    const int style = dice.between(0, 3);
    for (int vertex = 1; vertex < network.vertices; ++vertex) {
        network.edges.push_back({dice.between(0, vertex - 1), vertex, dice.bandwidth(style)});
    }
    const int density = dice.between(10, 80);
    for (int a = 0; a < network.vertices; ++a) {
        for (int b = a + 1; b < network.vertices; ++b) {
            if (dice.chance(density)) network.edges.push_back({a, b, dice.bandwidth(style)});
        }
    }
    return network;
}

/// The same as a topology: terminals are GPUs, relays switches.
inline Topology random_machine(Dice& dice, int gpus, int switches) {
    const forest::Network network = random_network(dice, gpus, switches);
    std::vector<Wire> wires;
    for (const forest::Edge& edge : network.edges) {
        const auto same = [&](const Wire& wire) { return wire.a == edge.a && wire.b == edge.b; };
        if (std::ranges::any_of(wires, same)) continue;
        wires.push_back({edge.a, edge.b, static_cast<std::int64_t>(edge.capacity)});
    }
    return machine(gpus, switches, wires);
}

}  // namespace rondo::testing
