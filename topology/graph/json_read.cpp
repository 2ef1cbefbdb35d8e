// Reads a topology from JSON, schema 1 and 2.
#include <charconv>
#include <map>
#include <unordered_map>

#include "base/json_object.hpp"
#include "topology/graph/detail_fields.hpp"
#include "topology/graph/error.hpp"
#include "topology/graph/json.hpp"
#include "topology/graph/names.hpp"
#include "topology/graph/units.hpp"

namespace rondo {
namespace {

using NodeIndex = std::unordered_map<std::string, int>;

/// Fills the fields of a detail struct from a JSON object.
class FieldReader {
public:
    explicit FieldReader(const JsonObject& object) : object_(object) {}

    void operator()(std::string_view key, std::string& field) const {
        field = object_.text_or(key, "");
    }
    void operator()(std::string_view key, int& field) const { field = object_.small_integer(key); }
    void operator()(std::string_view key, bool& field) const { field = object_.boolean(key); }
    void operator()(std::string_view key, std::optional<int>& field) const {
        if (object_.has(key)) field = object_.small_integer(key);
    }

private:
    const JsonObject& object_;
};

/// The detail struct under `key`, if it is there.
template <class Info>
std::optional<Info> read_details(const JsonObject& parent, std::string_view key) {
    if (!parent.has(key)) return std::nullopt;
    const JsonObject object = parent.object(key);
    Info info;
    std::vector<std::string_view> known;
    visit_fields(info, [&](std::string_view name, const auto&) { known.push_back(name); });
    object.allow_only(known);
    visit_fields(info, FieldReader(object));
    return info;
}

std::int64_t bandwidth(const JsonObject& object, std::string_view key) {
    const double value = object.number(key);
    const auto bytes = bytes_per_second(value);
    if (!bytes) object.fail(key, "a bandwidth of " + Json(value).dump() + " GB/s is out of range");
    return *bytes;
}

void read_compute_capability(const JsonObject& object, GpuInfo& gpu) {
    const std::string text = object.text("compute_capability");
    const char* const end = text.data() + text.size();
    const auto major = std::from_chars(text.data(), end, gpu.compute_major);
    const bool dot = major.ec == std::errc{} && major.ptr != end && *major.ptr == '.';
    const auto minor = std::from_chars(dot ? major.ptr + 1 : end, end, gpu.compute_minor);
    if (!dot || minor.ec != std::errc{} || minor.ptr != end || gpu.compute_major < 1 ||
        gpu.compute_minor < 0) {
        object.fail("compute_capability", in_quotes(text) + " does not look like \"7.0\"");
    }
}

double read_cost(const JsonObject& object, std::string_view key) {
    const double value = object.number(key);
    if (!(value >= 0 && value <= 1e9)) object.fail(key, "the cost is out of range");
    return value;
}

GpuCosts read_costs(const JsonObject& object) {
    object.allow_only({"launch_us", "flag_us", "block_GBps", "memory_GBps"});
    const GpuCosts costs{.launch_us = read_cost(object, "launch_us"),
                         .flag_us = read_cost(object, "flag_us"),
                         .block_GBps = read_cost(object, "block_GBps"),
                         .memory_GBps = read_cost(object, "memory_GBps")};
    for (const auto& [key, value] :
         {std::pair("block_GBps", costs.block_GBps), std::pair("memory_GBps", costs.memory_GBps)}) {
        if (value == 0) object.fail(key, "it must be above 0");
    }
    return costs;
}

GpuInfo read_gpu(const JsonObject& object) {
    GpuInfo gpu;
    gpu.model = object.text_or("model", "");
    gpu.bus_id = object.text_or("bus_id", "");
    if (object.has("compute_capability")) read_compute_capability(object, gpu);
    if (object.has("memory_GiB")) {
        const auto bytes = bytes_of_gibibytes(object.number("memory_GiB"));
        if (!bytes) object.fail("memory_GiB", "the memory size is out of range");
        gpu.memory_bytes = *bytes;
    }
    gpu.rank = read_details<RankInfo>(object, "nccl");
    if (object.has("costs")) gpu.costs = read_costs(object.object("costs"));
    return gpu;
}

std::vector<std::string_view> node_keys(NodeType type) {
    switch (type) {
        case NodeType::gpu:
            return {"id",  "type", "model", "compute_capability", "memory_GiB", "bus_id", "host",
                    "pci", "nccl", "costs"};
        case NodeType::network_switch:
            return {"id", "type", "host", "pci"};
        case NodeType::cpu:
            return {"id", "type", "host", "cpu"};
        case NodeType::nic:
            return {"id", "type", "host", "pci", "net"};
    }
    return {};
}

Node read_node(const JsonObject& object, std::int64_t schema) {
    Node node;
    node.id = object.text("id");
    const std::string type = object.text("type");
    const auto known = node_type_from(type);
    if (!known) object.fail("type", in_quotes(type) + " is not gpu, switch, cpu or nic");
    node.type = *known;
    object.allow_only(schema == 1 ? std::vector<std::string_view>{"id", "type"}
                                  : node_keys(node.type));
    if (node.type == NodeType::gpu) node.gpu = read_gpu(object);
    if (object.has("host")) node.host = object.small_integer("host");
    node.pci = read_details<PciInfo>(object, "pci");
    node.cpu = read_details<CpuInfo>(object, "cpu");
    node.net = read_details<NetInfo>(object, "net");
    return node;
}

int endpoint(const JsonObject& object, std::string_view key, const NodeIndex& nodes) {
    const std::string id = object.text(key);
    const auto found = nodes.find(id);
    if (found == nodes.end()) object.fail(key, "there is no node " + in_quotes(id));
    return found->second;
}

Link read_link(const JsonObject& object, std::int64_t schema, const NodeIndex& nodes) {
    if (schema == 1) {
        object.allow_only({"src", "dst", "kind", "count", "GBps", "GBps_nccl"});
    } else {
        object.allow_only({"src", "dst", "kind", "count", "GBps", "GBps_nccl", "latency_us"});
    }
    Link link;
    link.source = endpoint(object, "src", nodes);
    link.target = endpoint(object, "dst", nodes);
    const std::string kind = object.text("kind");
    const auto known = link_kind_from(kind);
    if (!known)
        object.fail("kind", in_quotes(kind) + " is not NVL, XGMI, PCI, SYS, NET, MEM or C2C");
    link.kind = *known;
    link.count = object.has("count") ? object.small_integer("count") : 1;
    link.nominal = bandwidth(object, "GBps");
    link.nccl = object.has("GBps_nccl") ? bandwidth(object, "GBps_nccl") : link.nominal;
    link.latency_us = object.optional_number("latency_us");
    return link;
}

std::vector<std::pair<int, int>> read_pairs(const JsonObject& top, const Topology& topology,
                                            const NodeIndex& nodes) {
    std::map<int, int> gpu_at;
    for (int gpu = 0; gpu < topology.gpu_count(); ++gpu) gpu_at[topology.gpu_node(gpu)] = gpu;
    std::vector<std::pair<int, int>> pairs;
    for (const JsonObject& object : top.objects("no_peer_access")) {
        object.allow_only({"src", "dst"});
        const auto gpu = [&](std::string_view key) {
            const auto found = gpu_at.find(endpoint(object, key, nodes));
            if (found == gpu_at.end()) object.fail(key, in_quotes(object.text(key)) + " is no gpu");
            return found->second;
        };
        pairs.emplace_back(gpu("src"), gpu("dst"));
        if (pairs.back().first == pairs.back().second) object.fail("a gpu reaches itself");
    }
    return pairs;
}

std::int64_t read_schema(const JsonObject& top) {
    const std::int64_t schema = top.integer("schema");
    if (schema != 1 && schema != 2) {
        top.fail("schema", "version " + std::to_string(schema) + " is not known; 1 and 2 are");
    }
    if (schema == 1) {
        top.allow_only({"schema", "name", "desc", "nodes", "links", "sources"});
    } else {
        top.allow_only({"schema", "name", "description", "sources", "pci_peer_access",
                        "no_peer_access", "nodes", "links"});
    }
    return schema;
}

Topology read_topology(std::string_view text) {
    const Json json = parse_strict_json(text);
    const JsonObject top(json, "");
    const std::int64_t schema = read_schema(top);
    std::vector<Node> nodes;
    NodeIndex index;
    for (const JsonObject& object : top.objects("nodes")) {
        nodes.push_back(read_node(object, schema));
        index.emplace(nodes.back().id, static_cast<int>(nodes.size()) - 1);
    }
    std::vector<Link> links;
    for (const JsonObject& object : top.objects("links")) {
        links.push_back(read_link(object, schema, index));
    }
    Topology topology(top.text("name"), std::move(nodes), std::move(links));
    topology.set_description(top.text_or(schema == 1 ? "desc" : "description", ""));
    topology.set_pci_peer_access(top.boolean_or("pci_peer_access", true));
    if (top.has("no_peer_access")) topology.set_no_peer_access(read_pairs(top, topology, index));
    if (top.has("sources")) topology.set_sources(top.texts("sources"));
    return topology;
}

}  // namespace

Topology topology_from_json(std::string_view text) {
    try {
        return read_topology(text);
    } catch (const JsonError& error) {
        throw TopologyError(error.what());
    }
}

}  // namespace rondo
