// Makes the topology say the same about peers as CUDA does.
#include <fmt/format.h>

#include <algorithm>

#include "topology/detect/assemble.hpp"

namespace rondo::detection {
namespace {

using Pairs = std::vector<std::pair<int, int>>;

/// Pairs for which the wiring and CUDA differ, in one direction.
Pairs pairs_where(const Topology& topology, const CudaFacts& cuda, bool wired) {
    Pairs pairs;
    for (int from = 0; from < topology.gpu_count(); ++from) {
        for (int to = 0; to < topology.gpu_count(); ++to) {
            if (from == to || topology.peer_access(from, to) != wired) continue;
            if (cuda.reaches(from, to) != wired) pairs.emplace_back(from, to);
        }
    }
    return pairs;
}

/// How many ordered pairs are peers only because they share a PCI root.
std::size_t pci_pairs(const Topology& topology) {
    Topology without_pci = topology;
    without_pci.set_pci_peer_access(false);
    std::size_t count = 0;
    for (int from = 0; from < topology.gpu_count(); ++from) {
        for (int to = 0; to < topology.gpu_count(); ++to) {
            count += topology.peer_access(from, to) && !without_pci.peer_access(from, to) ? 1 : 0;
        }
    }
    return count;
}

void forbid(Topology& topology, const Pairs& refused, FactLog& log) {
    Topology without_pci = topology;
    without_pci.set_pci_peer_access(false);
    const auto by_pci = std::ranges::count_if(refused, [&](const auto& pair) {
        return !without_pci.peer_access(pair.first, pair.second);
    });
    if (by_pci > 0 && static_cast<std::size_t>(by_pci) == pci_pairs(topology)) {
        topology.set_pci_peer_access(false);
        log.add(topology.name(), "peer access over PCI Express", "no", FactSource::cuda);
    }
    Pairs rest;
    std::ranges::copy_if(refused, std::back_inserter(rest), [&](const auto& pair) {
        return topology.peer_access(pair.first, pair.second);
    });
    for (const auto& [from, to] : rest) {
        log.add(fmt::format("gpu{} - gpu{}", from, to), "peer access", "no", FactSource::cuda);
    }
    topology.set_no_peer_access(std::move(rest));
}

/// Both directions of direct links between two GPUs.
bool joins(const Topology& topology, const Link& link, std::pair<int, int> pair) {
    const int a = topology.gpu_node(pair.first);
    const int b = topology.gpu_node(pair.second);
    return (link.source == a && link.target == b) || (link.source == b && link.target == a);
}

}  // namespace

Topology with_peers(const Graph& graph, const CudaFacts& cuda, FactLog& log) {
    Topology topology("detected", graph.nodes, graph.links);
    if (cuda.gpus.empty()) {
        log.warn(
            fmt::format("CUDA does not answer ({}): who reaches whose memory is taken from "
                        "the wiring",
                        cuda.problem));
        return topology;
    }
    const Pairs refused = pairs_where(topology, cuda, true);
    if (!refused.empty()) forbid(topology, refused, log);
    const Pairs unexplained = pairs_where(topology, cuda, false);
    if (!unexplained.empty()) {
        log.warn(
            fmt::format("CUDA allows peer access for {} pairs that are on different sockets "
                        "or not wired together as far as is known (the first: gpu{} and "
                        "gpu{}); it is not used",
                        unexplained.size(), unexplained.front().first, unexplained.front().second));
    }
    return topology;
}

Topology without(const Topology& topology, const Pairs& broken) {
    std::vector<Link> links;
    std::ranges::copy_if(topology.links(), std::back_inserter(links), [&](const Link& link) {
        return std::ranges::none_of(broken,
                                    [&](const auto& pair) { return joins(topology, link, pair); });
    });
    Topology result(topology.name(), topology.nodes(), std::move(links));
    result.set_description(topology.description());
    result.set_sources(topology.sources());
    result.set_pci_peer_access(topology.pci_peer_access());
    Pairs forbidden = topology.no_peer_access();
    for (const auto& [from, to] : broken) {
        for (const auto& pair : {std::pair(from, to), std::pair(to, from)}) {
            if (result.peer_access(pair.first, pair.second)) forbidden.push_back(pair);
        }
    }
    result.set_no_peer_access(std::move(forbidden));
    return result;
}

}  // namespace rondo::detection
