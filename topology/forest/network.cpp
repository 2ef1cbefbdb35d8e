// The part of a topology that a request may use, as a small undirected graph with integer
// capacities.
#include "topology/forest/network.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace rondo::forest {
namespace {

constexpr int not_used = -1;

bool allowed(const Link& link, LinkFilter filter) {
    return filter == LinkFilter::all || link.kind == LinkKind::nvlink ||
           link.kind == LinkKind::xgmi || link.kind == LinkKind::memory;
}

/// Vertex of every node: the GPUs of the request first, then whatever may pass data on.
std::vector<int> number_vertices(const Topology& topology, const ForestRequest& request,
                                 const std::vector<int>& gpus) {
    std::vector<int> vertex_of(topology.nodes().size(), not_used);
    int next = 0;
    for (const int gpu : gpus) vertex_of[topology.gpu_node(gpu)] = next++;
    for (std::size_t node = 0; node < vertex_of.size(); ++node) {
        const bool relay = topology.nodes()[node].type != NodeType::gpu || request.helpers;
        if (vertex_of[node] == not_used && relay) vertex_of[node] = next++;
    }
    return vertex_of;
}

/// All links between two vertices, by direction.
struct Bundle {
    std::vector<int> forward;
    std::vector<int> backward;
};

using Bundles = std::map<std::pair<int, int>, Bundle>;

Bundles bundle_links(const Topology& topology, const ForestRequest& request,
                     const std::vector<int>& vertex_of) {
    Bundles bundles;
    for (std::size_t index = 0; index < topology.links().size(); ++index) {
        const Link& link = topology.links()[index];
        const int source = vertex_of[link.source];
        const int target = vertex_of[link.target];
        if (source == not_used || target == not_used || !allowed(link, request.links)) continue;
        Bundle& bundle = bundles[std::minmax(source, target)];
        (source < target ? bundle.forward : bundle.backward).push_back(static_cast<int>(index));
    }
    return bundles;
}

Units total_bandwidth(const Topology& topology, BandwidthModel model,
                      const std::vector<int>& links) {
    Units total = 0;
    for (const int link : links) {
        total += topology.links()[link].bandwidth(model);
    }
    return total;
}

std::vector<LinkShare> shares(const Topology& topology, BandwidthModel model,
                              const std::vector<int>& links) {
    const Rational total = to_rational(total_bandwidth(topology, model, links));
    std::vector<LinkShare> result;
    for (const int link : links) {
        const auto bandwidth = topology.links()[link].bandwidth(model);
        result.push_back({link, Rational(bandwidth) / total});
    }
    return result;
}

void add_edge(PhysicalNetwork& physical, const Topology& topology, BandwidthModel model,
              const Bundles::value_type& entry) {
    const auto& [ends, bundle] = entry;
    const Units forward = total_bandwidth(topology, model, bundle.forward);
    const Units backward = total_bandwidth(topology, model, bundle.backward);
    if (forward != backward) physical.symmetric = false;
    if (std::min(forward, backward) == 0) return;
    physical.network.edges.push_back({ends.first, ends.second, std::min(forward, backward)});
    physical.forward.push_back(shares(topology, model, bundle.forward));
    physical.backward.push_back(shares(topology, model, bundle.backward));
}

std::vector<int> component_labels(const Network& network) {
    std::vector<int> label(static_cast<std::size_t>(network.vertices));
    std::iota(label.begin(), label.end(), 0);
    const auto find = [&](int vertex) {
        while (label[vertex] != vertex) {
            vertex = label[vertex];
        }
        return vertex;
    };
    for (const Edge& edge : network.edges) {
        const auto [low, high] = std::minmax({find(edge.a), find(edge.b)});
        label[high] = low;
    }
    for (int v = 0; v < network.vertices; ++v) label[v] = find(v);
    return label;
}

void require_connected(const Network& network, const std::vector<int>& gpus, LinkFilter links) {
    const std::vector<int> label = component_labels(network);
    std::map<int, std::string> parts;
    for (int terminal = 0; terminal < network.terminals; ++terminal) {
        std::string& part = parts[label[terminal]];
        part += (part.empty() ? "{" : ", ") + std::to_string(gpus[terminal]);
    }
    if (parts.size() <= 1) return;
    std::string text = "the GPUs of the allocation are not joined by ";
    text += links == LinkFilter::all ? "any links: " : "NVLink, XGMI or shared memory: ";
    for (const auto& [first, part] : parts) text += (first == 0 ? "" : ", ") + part + "}";
    throw ForestError(text);
}

}  // namespace

Units greatest_common_divisor(Units a, Units b) {
    while (b != 0) a = std::exchange(b, a % b);
    return a < 0 ? -a : a;
}

std::vector<std::vector<int>> Network::incident_edges() const {
    std::vector<std::vector<int>> incident(static_cast<std::size_t>(vertices));
    for (std::size_t edge = 0; edge < edges.size(); ++edge) {
        incident[edges[edge].a].push_back(static_cast<int>(edge));
        incident[edges[edge].b].push_back(static_cast<int>(edge));
    }
    return incident;
}

std::vector<int> allocated_gpus(const Topology& topology, const ForestRequest& request) {
    std::vector<int> gpus = request.gpus;
    if (gpus.empty()) {
        gpus.resize(static_cast<std::size_t>(topology.gpu_count()));
        std::iota(gpus.begin(), gpus.end(), 0);
    }
    std::vector<bool> seen(static_cast<std::size_t>(topology.gpu_count()), false);
    for (const int gpu : gpus) {
        if (gpu < 0 || gpu >= topology.gpu_count()) {
            throw ForestError("there is no GPU " + std::to_string(gpu) + " in " + topology.name() +
                              ", which has " + std::to_string(topology.gpu_count()));
        }
        if (seen[gpu]) {
            throw ForestError("GPU " + std::to_string(gpu) + " is in the allocation twice");
        }
        seen[gpu] = true;
    }
    return gpus;
}

PhysicalNetwork make_network(const Topology& topology, const ForestRequest& request) {
    const std::vector<int> gpus = allocated_gpus(topology, request);
    const std::vector<int> vertex_of = number_vertices(topology, request, gpus);
    PhysicalNetwork physical;
    physical.network.terminals = static_cast<int>(gpus.size());
    physical.network.vertices = 1 + *std::ranges::max_element(vertex_of);
    physical.node_of.resize(static_cast<std::size_t>(physical.network.vertices));
    for (std::size_t node = 0; node < vertex_of.size(); ++node) {
        if (vertex_of[node] == not_used) continue;
        physical.node_of[vertex_of[node]] = static_cast<int>(node);
    }
    for (const auto& entry : bundle_links(topology, request, vertex_of)) {
        add_edge(physical, topology, request.model, entry);
    }
    require_connected(physical.network, gpus, request.links);
    return physical;
}

}  // namespace rondo::forest
