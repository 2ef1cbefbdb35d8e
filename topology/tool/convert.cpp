// rondo-topo validate and convert: topology files in and out.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "topology/forest/forest.hpp"
#include "topology/graph/json.hpp"
#include "topology/graph/names.hpp"
#include "topology/graph/text_file.hpp"
#include "topology/load/any_topology.hpp"
#include "topology/tool/commands.hpp"
#include "topology/tool/wiring.hpp"
#include "topology/xml/nccl_xml.hpp"

namespace rondo::tool {
namespace {

/// What is allowed but probably not meant.
std::vector<std::string> doubts(const Topology& topology) {
    std::vector<std::string> result;
    for (const Cable& cable : cables(topology)) {
        if (cable.both_ways) continue;
        result.push_back(fmt::format("{} -> {} ({}): the other direction is missing or different",
                                     topology.nodes()[cable.a].id, topology.nodes()[cable.b].id,
                                     to_string(cable.kind)));
    }
    if (topology.gpu_count() > 1) {
        try {
            forest_bound(topology, {.shares = RootShares::equal});
        } catch (const ForestError& error) {
            result.push_back(error.what());
        }
    }
    return result;
}

std::string format_of(const ConvertOptions& options) {
    if (!options.format.empty()) return options.format;
    const std::string extension = std::filesystem::path(options.output).extension().string();
    if (extension == ".json") return "json";
    if (extension == ".xml") return "xml";
    throw UsageError(fmt::format(
        "{}: can't tell the format by the name; end it in .json or .xml, or use --format",
        in_quotes(options.output)));
}

}  // namespace

void write_file(const std::string& file, const std::string& text) {
    if (file == "-") {
        fmt::print("{}", text);
        return;
    }
    std::ofstream out(file, std::ios::binary);
    out << text;
    out.close();
    if (!out) throw std::runtime_error(fmt::format("{}: can't be written", in_quotes(file)));
}

void validate_file(const std::string& file) {
    Topology topology;
    try {
        topology = topology_from_any_text(read_text_file(file));
    } catch (const TopologyError& error) {
        // The file is named once, whether reading or understanding it failed.
        const std::string text = error.what();
        const bool named = text.find(file) != std::string::npos;
        throw TopologyError(named ? text : fmt::format("{}: {}", file, text));
    }
    fmt::print("{}: valid: {}, {} nodes ({} GPUs), {} links\n", file, in_quotes(topology.name()),
               topology.nodes().size(), topology.gpu_count(), topology.links().size());
    for (const std::string& doubt : doubts(topology)) fmt::print("  note: {}\n", doubt);
}

void convert(const ConvertOptions& options) {
    const std::string format = format_of(options);
    const Topology topology = load_any_topology(options.input);
    if (format == "json") {
        write_file(options.output, topology_to_json(topology));
        return;
    }
    const NcclXml xml = export_nccl_xml(topology);
    write_file(options.output, xml.text);
    for (const std::string& text : xml.left_out) fmt::print(stderr, "left out: {}\n", text);
}

}  // namespace rondo::tool
