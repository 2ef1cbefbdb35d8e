#include "communicator/planners.hpp"

#include <algorithm>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "cuda/check.hpp"
#include "cuda/device_guard.hpp"
#include "cuda/peer.hpp"
#include "kernels/kernels.hpp"

namespace rondo::detail {
namespace {

/// What was found out stays, as the machine does. A name of the machine tells whether it does.
struct Memory {
    std::mutex mutex;
    std::map<std::pair<std::string, bool>, std::shared_ptr<const Detection>> detections;
    std::map<std::string, std::weak_ptr<const Planner>> planners;
};

Memory& memory() {
    static Memory* const all = new Memory;  // never destroyed: communicators may be static
    return *all;
}

std::string machine_name() {
    std::string name;
    const std::vector<DeviceId> devices = all_devices();
    for (const DeviceId device : devices) {
        name += device_bus_id(device) + " ";
        for (const DeviceId peer : devices) name += can_access_peer(device, peer) ? '+' : '-';
    }
    return name;
}

/// GPUs on one bus, in which some can't map others.
Topology topology_of(const Machine& machine) {
    std::vector<Node> nodes;
    std::vector<Link> links;
    std::vector<std::pair<int, int>> unreachable;
    const auto bus = static_cast<int>(machine.ranks());
    for (std::uint32_t rank = 0; rank < machine.ranks(); ++rank) {
        const auto gpu = static_cast<int>(rank);
        nodes.push_back({.id = fmt::format("gpu{}", rank), .type = NodeType::gpu});
        for (const auto& [from, to] : {std::pair(gpu, bus), std::pair(bus, gpu)}) {
            links.push_back({.source = from,
                             .target = to,
                             .kind = LinkKind::pci,
                             .nominal = 12'000'000'000,
                             .nccl = 12'000'000'000});
        }
        for (std::uint32_t to = 0; to < machine.ranks(); ++to) {
            if (!machine.reaches(rank, to)) unreachable.emplace_back(gpu, static_cast<int>(to));
        }
    }
    nodes.push_back({.id = "bus", .type = NodeType::cpu});
    Topology topology("unknown", std::move(nodes), std::move(links));
    topology.set_pci_peer_access(true);
    topology.set_no_peer_access(std::move(unreachable));
    return topology;
}

/// Enough to see whether data arrives; all pairs of a large machine take a moment.
constexpr std::size_t self_test_bytes = 64 << 10;

}  // namespace

std::shared_ptr<const Detection> detected_machine(bool self_test) {
    const std::pair key(machine_name(), self_test);
    {
        const std::lock_guard lock(memory().mutex);
        const auto known = memory().detections.find(key);
        if (known != memory().detections.end()) return known->second;
    }
    std::shared_ptr<const Detection> found;
    try {
        found = std::make_shared<const Detection>(
            detect({.self_test = self_test, .test = {.bytes = self_test_bytes}}));
    } catch (const TopologyError&) {
        // Whoever wants to know why asks rondo-topo detect.
    }
    const std::lock_guard lock(memory().mutex);
    return memory().detections.try_emplace(key, std::move(found)).first->second;
}

std::vector<std::pair<int, int>> broken_pairs(const Detection* detection) {
    std::vector<std::pair<int, int>> pairs;
    if (detection == nullptr) return pairs;
    for (const BrokenPair& pair : detection->broken_pairs) pairs.emplace_back(pair.from, pair.to);
    return pairs;
}

unsigned resident_blocks(DeviceId device) {
    const DeviceGuard guard(device);
    int per_processor = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
              &per_processor, kernels::find_program_kernel(ElementType::f32, ReduceOp::sum).entry,
              kernels::max_block_threads, 0),
          "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    return static_cast<unsigned>(per_processor *
                                 device_attribute(device, cudaDevAttrMultiProcessorCount));
}

std::shared_ptr<const Planner> planner_for(const Machine& machine,
                                           const std::shared_ptr<const Detection>& detection,
                                           std::uint64_t scratch_bytes) {
    PlannerOptions options{.max_blocks = kernels::max_blocks, .scratch_bytes = scratch_bytes};
    std::string name =
        fmt::format("{} {}", static_cast<const void*>(detection.get()), scratch_bytes);
    for (std::uint32_t rank = 0; rank < machine.ranks(); ++rank) {
        const DeviceId device = machine.device(rank);
        options.max_blocks = std::min(options.max_blocks, resident_blocks(device));
        options.gpus.push_back(detection == nullptr ? static_cast<int>(rank) : device.value());
        name += fmt::format(" {}", device.value());
        for (std::uint32_t to = 0; to < machine.ranks() && detection == nullptr; ++to) {
            name += machine.reaches(rank, to) ? '+' : '-';
        }
    }
    name += fmt::format(" {}", options.max_blocks);
    {
        const std::lock_guard lock(memory().mutex);
        if (auto known = memory().planners[name].lock()) return known;
    }
    auto planner = std::make_shared<const Planner>(
        detection == nullptr ? topology_of(machine) : detection->topology, options);
    const std::lock_guard lock(memory().mutex);
    memory().planners[name] = planner;
    return planner;
}

}  // namespace rondo::detail
