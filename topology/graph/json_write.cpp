// Writes a topology as JSON, schema 2: one line per node and link.
#include <cmath>

#include "base/json_object.hpp"
#include "topology/graph/detail_fields.hpp"
#include "topology/graph/error.hpp"
#include "topology/graph/json.hpp"
#include "topology/graph/names.hpp"
#include "topology/graph/units.hpp"

namespace rondo {
namespace {

/// A number without a needless ".0".
Json number(double value) {
    const auto whole = static_cast<std::int64_t>(value);
    if (std::abs(value) < 1e15 && static_cast<double>(whole) == value) return whole;
    return value;
}

/// Adds the fields of a detail struct to a JSON object; empty ones are left out.
class FieldWriter {
public:
    explicit FieldWriter(Json& json) : json_(json) {}

    void operator()(const char* key, const std::string& field) const {
        if (!field.empty()) json_[key] = field;
    }
    void operator()(const char* key, int field) const { json_[key] = field; }
    void operator()(const char* key, bool field) const { json_[key] = field; }
    void operator()(const char* key, const std::optional<int>& field) const {
        if (field) json_[key] = *field;
    }

private:
    Json& json_;
};

template <class Info>
void write_details(Json& parent, const char* key, const std::optional<Info>& info) {
    if (!info) return;
    Json json = Json::object();
    visit_fields(*info, FieldWriter(json));
    parent[key] = std::move(json);
}

Json node_to_json(const Node& node) {
    Json json{{"id", node.id}, {"type", to_string(node.type)}};
    const GpuInfo& gpu = node.gpu;
    if (!gpu.model.empty()) json["model"] = gpu.model;
    if (gpu.compute_major > 0) {
        json["compute_capability"] =
            std::to_string(gpu.compute_major) + "." + std::to_string(gpu.compute_minor);
    }
    if (gpu.memory_bytes > 0) json["memory_GiB"] = number(gibibytes(gpu.memory_bytes));
    if (!gpu.bus_id.empty()) json["bus_id"] = gpu.bus_id;
    if (node.host != 0) json["host"] = node.host;
    write_details(json, "pci", node.pci);
    write_details(json, "cpu", node.cpu);
    write_details(json, "net", node.net);
    write_details(json, "nccl", gpu.rank);
    if (gpu.costs) {
        json["costs"] = {{"launch_us", number(gpu.costs->launch_us)},
                         {"flag_us", number(gpu.costs->flag_us)},
                         {"block_GBps", number(gpu.costs->block_GBps)},
                         {"memory_GBps", number(gpu.costs->memory_GBps)}};
    }
    return json;
}

Json link_to_json(const Link& link, const std::vector<Node>& nodes) {
    const auto id = [&](int node) { return nodes[static_cast<std::size_t>(node)].id; };
    Json json{{"src", id(link.source)},
              {"dst", id(link.target)},
              {"kind", to_string(link.kind)},
              {"count", link.count},
              {"GBps", number(gigabytes_per_second(link.nominal))},
              {"GBps_nccl", number(gigabytes_per_second(link.nccl))}};
    if (link.latency_us) json["latency_us"] = number(*link.latency_us);
    return json;
}

/// {"key": value, ...} on one line.
std::string one_line(const Json& object) {
    std::string line;
    for (const auto& [key, value] : object.items()) {
        line += (line.empty() ? "{" : ", ") + Json(key).dump() + ": " +
                (value.is_object() ? one_line(value) : value.dump());
    }
    return line.empty() ? "{}" : line + "}";
}

/// One element per line.
template <class Elements, class Print>
std::string array_lines(const Elements& elements, Print print) {
    std::string lines;
    for (const auto& element : elements) {
        lines += (lines.empty() ? "\n    " : ",\n    ") + print(element);
    }
    return lines.empty() ? "[]" : "[" + lines + "\n  ]";
}

std::string write(const Topology& topology) {
    const auto text = [](const std::string& value) { return Json(value).dump(); };
    std::string json = "{\n  \"schema\": 2,\n  \"name\": " + text(topology.name()) + ",\n";
    if (!topology.description().empty()) {
        json += "  \"description\": " + text(topology.description()) + ",\n";
    }
    if (!topology.sources().empty()) {
        json += "  \"sources\": " + array_lines(topology.sources(), text) + ",\n";
    }
    json += std::string("  \"pci_peer_access\": ") +
            (topology.pci_peer_access() ? "true" : "false") + ",\n";
    if (!topology.no_peer_access().empty()) {
        json += "  \"no_peer_access\": " +
                array_lines(topology.no_peer_access(), [&](const std::pair<int, int>& pair) {
                    const auto id = [&](int gpu) {
                        return topology.nodes()[topology.gpu_node(gpu)].id;
                    };
                    return one_line({{"src", id(pair.first)}, {"dst", id(pair.second)}});
                });
        json += ",\n";
    }
    json += "  \"nodes\": " + array_lines(topology.nodes(), [](const Node& node) {
                return one_line(node_to_json(node));
            });
    json += ",\n  \"links\": " + array_lines(topology.links(), [&](const Link& link) {
                return one_line(link_to_json(link, topology.nodes()));
            });
    return json + "\n}\n";
}

}  // namespace

std::string topology_to_json(const Topology& topology) {
    try {
        return write(topology);
    } catch (const nlohmann::json::exception& error) {
        throw TopologyError("topology " + in_quotes(topology.name()) +
                            " holds a text that is not UTF-8: " + error.what());
    }
}

}  // namespace rondo
