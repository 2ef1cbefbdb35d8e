// The links of a topology as people see them: one cable for the two directions.
#include "topology/tool/wiring.hpp"

#include <fmt/format.h>

#include <map>
#include <tuple>

#include "topology/graph/units.hpp"

namespace rondo::tool {

bool Cable::alike(const Cable& other) const {
    return kind == other.kind && count == other.count && nominal == other.nominal &&
           nccl == other.nccl && both_ways == other.both_ways;
}

std::vector<Cable> cables(const Topology& topology) {
    std::map<std::tuple<int, int, LinkKind>, std::size_t> waiting;  // for the way back
    std::vector<Cable> result;
    for (const Link& link : topology.links()) {
        const auto back = waiting.find({link.target, link.source, link.kind});
        if (back != waiting.end()) {
            Cable& cable = result[back->second];
            const bool same = cable.count == link.count && cable.nominal == link.nominal &&
                              cable.nccl == link.nccl;
            if (same) {
                cable.both_ways = true;
                waiting.erase(back);
                continue;
            }
        }
        waiting[{link.source, link.target, link.kind}] = result.size();
        result.push_back({.a = link.source,
                          .b = link.target,
                          .kind = link.kind,
                          .count = link.count,
                          .nominal = link.nominal,
                          .nccl = link.nccl});
    }
    return result;
}

std::string bandwidth_text(const Cable& cable) {
    const std::string nominal = shortest(gigabytes_per_second(cable.nominal)) + " GB/s";
    if (cable.nccl == cable.nominal) return nominal;
    return fmt::format("{} ({} in NCCL's model)", nominal,
                       shortest(gigabytes_per_second(cable.nccl)));
}

std::string_view kind_name(LinkKind kind) {
    switch (kind) {
        case LinkKind::nvlink:
            return "NVLink";
        case LinkKind::xgmi:
            return "XGMI";
        case LinkKind::pci:
            return "PCI Express";
        case LinkKind::inter_socket:
            return "between sockets";
        case LinkKind::network:
            return "network";
        case LinkKind::memory:
            return "host memory";
        case LinkKind::chip_to_chip:
            return "chip to chip";
    }
    return "?";
}

}  // namespace rondo::tool
