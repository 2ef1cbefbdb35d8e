// Turns a packing with free roots into a rooted one, for networks without relays.
#include "topology/forest/orientation.hpp"

#include <algorithm>

#include "topology/forest/max_flow.hpp"
#include "topology/forest/strength.hpp"

namespace rondo::forest {
namespace {

/// Lowers capacities until their sum is what the trees use.
std::vector<Units> trimmed(const Packing& free) {
    std::vector<Units> capacity = free.capacity;
    PartitionOracle oracle(*free.network);
    for (std::size_t edge = 0; edge < capacity.size(); ++edge) {
        oracle.set_edge(static_cast<int>(edge), capacity[edge]);
    }
    for (std::size_t edge = 0; edge < capacity.size(); ++edge) {
        oracle.set_edge(static_cast<int>(edge), 0);
        const Units missing = -oracle.hardest(free.total).slack;
        capacity[edge] = std::max<Units>(missing, 0);
        oracle.set_edge(static_cast<int>(edge), capacity[edge]);
    }
    return capacity;
}

/// The terminal from which the others are reached in the fewest steps.
int centre(const Network& network) {
    const auto incident = network.incident_edges();
    int best = 0;
    int best_depth = network.terminals;
    for (int root = 0; root < network.terminals; ++root) {
        std::vector<int> depth(network.terminals, -1);
        std::vector<int> queue{root};
        depth[root] = 0;
        for (std::size_t next = 0; next < queue.size(); ++next) {
            for (const int edge : incident[queue[next]]) {
                const int other = network.edges[edge].other(queue[next]);
                if (depth[other] >= 0) continue;
                depth[other] = depth[queue[next]] + 1;
                queue.push_back(other);
            }
        }
        if (depth[queue.back()] >= best_depth) continue;
        best = root;
        best_depth = depth[queue.back()];
    }
    return best;
}

}  // namespace

Packing orient(const Packing& free) {
    const Network& network = *free.network;
    const int edges = static_cast<int>(network.edges.size());
    const int root = centre(network);
    const std::vector<Units> capacity = trimmed(free);
    MaxFlow flow(network.terminals + edges + 2);
    const int source = network.terminals + edges;
    const int sink = source + 1;
    std::vector<int> to_head;
    Units sum = 0;
    for (int edge = 0; edge < edges; ++edge) {
        const int node = network.terminals + edge;
        flow.add_arc(source, node, capacity[edge]);
        to_head.push_back(flow.add_arc(node, network.edges[edge].b, capacity[edge]));
        flow.add_arc(node, network.edges[edge].a, capacity[edge]);
        sum += capacity[edge];
    }
    for (int terminal = 0; terminal < network.terminals; ++terminal) {
        if (terminal != root) flow.add_arc(terminal, sink, free.total);
    }
    flow.run(source, sink, sum);
    Packing rooted{.network = free.network, .rooted = true};
    for (int edge = 0; edge < edges; ++edge) {
        const Units forward = flow.flow_on(to_head[edge]);
        rooted.capacity.push_back(forward);
        rooted.capacity.push_back(capacity[edge] - forward);
    }
    rooted.roots.assign(network.terminals, 0);
    rooted.roots[root] = free.total;
    rooted.total = free.total;
    return rooted;
}

}  // namespace rondo::forest
