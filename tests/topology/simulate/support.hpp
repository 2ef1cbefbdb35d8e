// Small machines and schedules whose times can be computed by hand.
#pragma once

#include <string>
#include <vector>

#include "strategy/strategy_entry.hpp"
#include "topology/simulate/simulate.hpp"

namespace rondo::test {

inline constexpr double gigabyte = 1e9;

/// `gpus` V100s, each joined to a switch by one link of so many bytes per second, each way.
inline Topology star(int gpus, std::int64_t bandwidth, LinkKind kind = LinkKind::nvlink) {
    std::vector<Node> nodes;
    std::vector<Link> links;
    for (int gpu = 0; gpu < gpus; ++gpu) {
        nodes.push_back({.id = "gpu" + std::to_string(gpu), .type = NodeType::gpu});
        nodes.back().gpu.compute_major = 7;
    }
    nodes.push_back({.id = "switch", .type = NodeType::network_switch});
    for (int gpu = 0; gpu < gpus; ++gpu) {
        for (const auto& [source, target] : {std::pair{gpu, gpus}, std::pair{gpus, gpu}}) {
            links.push_back({.source = source,
                             .target = target,
                             .kind = kind,
                             .nominal = bandwidth,
                             .nccl = bandwidth});
        }
    }
    return Topology("star", std::move(nodes), std::move(links));
}

/// Rank `from` writes its input to the output of rank `to` for each pair, all at once. No flags, so
/// it is no correct schedule, but one transfer each.
inline Schedule copies(std::uint32_t ranks,
                       const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs) {
    Schedule schedule{.name = "copies", .collective = Collective::broadcast, .ranks = ranks};
    for (const auto& [from, to] : pairs) {
        const auto unit = static_cast<std::uint32_t>(schedule.unit_shares.size());
        schedule.unit_shares.push_back(1);
        Step step{.unit = unit};
        step.sources.push_back({Operand::Kind::input, from});
        step.destinations.push_back({Operand::Kind::output, to});
        schedule.lanes.push_back({from, {step}});
    }
    return schedule;
}

/// A strategy's all_reduce, ranks in the order 0, 1, 2...
inline Schedule make(const Strategy& strategy, std::uint32_t ranks, std::uint32_t depth) {
    const MachineView machine(ranks);
    return build({.machine = machine, .strategy = strategy, .depth = depth});
}

}  // namespace rondo::test
