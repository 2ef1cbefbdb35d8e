// Which NUMA domain a PCI device is near, as hwloc knows it: it mends what some firmware leaves
// out.
#include "topology/detect/hwloc_source.hpp"

#include <fmt/format.h>
#include <hwloc.h>

#include <memory>

namespace rondo::detection {
namespace {

struct Destroy {
    void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};

std::string bus_id_of(const hwloc_obj& object) {
    const auto& device = object.attr->pcidev;
    return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", unsigned{device.domain}, unsigned{device.bus},
                       unsigned{device.dev}, unsigned{device.func});
}

}  // namespace

bool hwloc_available() {
    return true;
}

std::map<std::string, int> read_hwloc() {
    hwloc_topology_t started = nullptr;
    if (hwloc_topology_init(&started) != 0) return {};
    const std::unique_ptr<hwloc_topology, Destroy> topology(started);
    hwloc_topology_set_io_types_filter(started, HWLOC_TYPE_FILTER_KEEP_ALL);
    if (hwloc_topology_load(started) != 0) return {};
    std::map<std::string, int> domains;
    for (hwloc_obj_t device = hwloc_get_next_pcidev(started, nullptr); device != nullptr;
         device = hwloc_get_next_pcidev(started, device)) {
        const hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(started, device);
        if (near == nullptr || hwloc_bitmap_weight(near->nodeset) != 1) continue;
        domains[bus_id_of(*device)] = hwloc_bitmap_first(near->nodeset);
    }
    return domains;
}

}  // namespace rondo::detection
