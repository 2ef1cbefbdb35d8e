// Puts what the sources say together into one graph.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "topology/detect/cuda_source.hpp"
#include "topology/detect/facts.hpp"
#include "topology/detect/hwloc_source.hpp"
#include "topology/detect/nvml_source.hpp"
#include "topology/detect/sysfs_source.hpp"
#include "topology/graph/topology.hpp"
#include "topology/xml/rules.hpp"

namespace rondo::detection {

struct Sources {
    CudaFacts cuda;
    NvmlFacts nvml;
    SysfsFacts sysfs;
    std::map<std::string, int> hwloc = {};  ///< NUMA domains by bus id, see read_hwloc()
};

/// A graph that grows. GPUs are the first nodes, in the order of their numbers.
struct Graph {
    std::vector<Node> nodes;
    std::vector<Link> links;
    int gpus = 0;

    int add(Node node);
    /// Both directions.
    void connect(int a, int b, LinkKind kind, int count, Bandwidth bandwidth);
    /// The GPU with that bus id, or -1.
    int find_gpu(const std::string& bus_id) const;
    const std::string& id(int node) const { return nodes[node].id; }
};

/// A GPU of vgpu that is not made after a real one: it lives in the host's memory, not on a bus.
bool is_in_host_memory(const Node& gpu);

/// GPUs, and what is between them in the PCI tree; NICs; sockets. Empty if no source knows a GPU.
Graph assemble(const Sources& sources, FactLog& log);

/// Adds the NVLinks: those that NVML lists, or what CUDA lets one guess.
void add_fabric(Graph& graph, const Sources& sources, FactLog& log);

/// The graph as a topology whose peer_access() is what CUDA says, wherever wiring can express that.
Topology with_peers(const Graph& graph, const CudaFacts& cuda, FactLog& log);

/// Takes broken pairs out: their own link if they have one, else only their peer access.
Topology without(const Topology& topology, const std::vector<std::pair<int, int>>& broken);

}  // namespace rondo::detection
