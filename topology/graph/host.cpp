// Virtual GPUs in one host memory: the topology of a machine without GPUs.
#include <array>
#include <cstdio>

#include "topology/graph/error.hpp"
#include "topology/graph/topology.hpp"
#include "topology/graph/validate.hpp"

namespace rondo {
namespace {

/// Each virtual GPU gets what one channel of DDR4-3200 moves.
constexpr std::int64_t memory_bandwidth = 25'600'000'000;

std::string virtual_bus_id(int gpu) {
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "0000:%02x:%02x.0", 1 + gpu / 32, gpu % 32);
    return text.data();
}

Node virtual_gpu(int gpu) {
    Node node{.id = "gpu" + std::to_string(gpu), .type = NodeType::gpu};
    node.gpu.model = "Virtual GPU";
    node.gpu.bus_id = virtual_bus_id(gpu);
    node.gpu.costs = host_gpu_costs();
    return node;
}

}  // namespace

/// A launch: `rondo-bench`, all_reduce of 8 bytes by 8 ranks. A flag: an 8-way barrier of fibers
/// takes 0.24 us. One block is a core that copies, which is all that a GPU's share of the memory
/// allows; there is no other memory that could be slower.
GpuCosts host_gpu_costs() {
    return {.launch_us = 1, .flag_us = 0.03, .block_GBps = 25.6, .memory_GBps = 1e6};
}

Topology make_host_topology(int count) {
    if (count < 1 || count > TopologyLimits::gpus) {
        throw TopologyError("a host topology has 1 to " + std::to_string(TopologyLimits::gpus) +
                            " GPUs, not " + std::to_string(count));
    }
    std::vector<Node> nodes;
    std::vector<Link> links;
    for (int gpu = 0; gpu < count; ++gpu) nodes.push_back(virtual_gpu(gpu));
    nodes.push_back({.id = "memory", .type = NodeType::network_switch});
    for (int gpu = 0; gpu < count; ++gpu) {
        for (const auto& [source, target] : {std::pair{gpu, count}, std::pair{count, gpu}}) {
            links.push_back({.source = source,
                             .target = target,
                             .kind = LinkKind::memory,
                             .count = 1,
                             .nominal = memory_bandwidth,
                             .nccl = memory_bandwidth});
        }
    }
    Topology topology("host", std::move(nodes), std::move(links));
    topology.set_description(std::to_string(count) + " virtual GPUs in one host memory");
    return topology;
}

}  // namespace rondo
