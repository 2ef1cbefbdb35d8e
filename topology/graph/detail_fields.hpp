// Names the fields of the detail structs once, for everything that treats them alike: reading,
// writing and checking.
#pragma once

#include <concepts>
#include <type_traits>

#include "topology/graph/details.hpp"

namespace rondo {

/// Info, const or not.
template <class Info, class Struct>
concept SomeOf = std::same_as<std::remove_const_t<Info>, Struct>;

/// Calls visit(name, member) for every field, in the order of the JSON schema.
template <SomeOf<PciInfo> Info, class Visit>
void visit_fields(Info& info, Visit visit) {
    visit("bus_id", info.bus_id);
    visit("class", info.device_class);
    visit("vendor", info.vendor);
    visit("device", info.device);
    visit("subsystem_vendor", info.subsystem_vendor);
    visit("subsystem_device", info.subsystem_device);
    visit("link_speed", info.link_speed);
    visit("link_width", info.link_width);
}

template <SomeOf<CpuInfo> Info, class Visit>
void visit_fields(Info& info, Visit visit) {
    visit("numa_id", info.numa_id);
    visit("affinity", info.affinity);
    visit("arch", info.arch);
    visit("vendor", info.vendor);
    visit("family", info.family);
    visit("model", info.model);
    visit("host_hash", info.host_hash);
}

template <SomeOf<RankInfo> Info, class Visit>
void visit_fields(Info& info, Visit visit) {
    visit("device", info.device);
    visit("rank", info.rank);
    visit("gpu_direct", info.gpu_direct);
    visit("sm", info.sm);
    visit("gcn", info.gcn);
    visit("arch", info.arch);
}

template <SomeOf<NetInfo> Info, class Visit>
void visit_fields(Info& info, Visit visit) {
    visit("device", info.device);
    visit("name", info.name);
    visit("guid", info.guid);
    visit("port", info.port);
    visit("max_connections", info.max_connections);
    visit("gpu_direct", info.gpu_direct);
    visit("collectives", info.collectives);
    visit("gin", info.gin);
    visit("rma", info.rma);
    visit("rail", info.rail);
    visit("plane", info.plane);
}

}  // namespace rondo
