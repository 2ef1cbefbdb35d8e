// rondo-topo list: the presets that are built in.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "topology/graph/names.hpp"
#include "topology/tool/commands.hpp"
#include "topology/tool/table.hpp"

namespace rondo::tool {
namespace {

std::ptrdiff_t count_of(const Topology& topology, NodeType type) {
    return std::ranges::count(topology.nodes(), type, &Node::type);
}

std::string kinds_of(const Topology& topology) {
    std::set<std::string_view> kinds;
    for (const Link& link : topology.links()) kinds.insert(to_string(link.kind));
    return fmt::format("{}", fmt::join(kinds, " "));
}

void print_json(const std::vector<std::string>& names) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const std::string& name : names) {
        const Topology topology = load_topology(name);
        list.push_back({{"name", name},
                        {"description", topology.description()},
                        {"gpus", topology.gpu_count()},
                        {"nodes", topology.nodes().size()},
                        {"links", topology.links().size()}});
    }
    fmt::print("{}\n", list.dump(2));
}

}  // namespace

void list_presets(bool json) {
    const std::vector<std::string> names = preset_names();
    if (json) return print_json(names);
    Table table({{"PRESET"},
                 {"GPUS", Align::right},
                 {"SWITCHES", Align::right},
                 {"CPUS", Align::right},
                 {"NICS", Align::right},
                 {"LINKS"},
                 {"DESCRIPTION"}});
    for (const std::string& name : names) {
        const Topology topology = load_topology(name);
        const auto count = [&](NodeType type) {
            return fmt::format("{}", count_of(topology, type));
        };
        table.add({name, count(NodeType::gpu), count(NodeType::network_switch),
                   count(NodeType::cpu), count(NodeType::nic), kinds_of(topology),
                   topology.description()});
    }
    fmt::print("{}\n  A number N stands for N virtual GPUs in one host memory.\n", table.text());
}

}  // namespace rondo::tool
