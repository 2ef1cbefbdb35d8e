// Finds the topology that a user means by a short text: a count, a preset or a file.
#include <charconv>
#include <filesystem>

#include "topology/graph/error.hpp"
#include "topology/graph/json.hpp"
#include "topology/graph/load.hpp"
#include "topology/graph/names.hpp"
#include "topology/graph/presets.hpp"
#include "topology/graph/text_file.hpp"
#include "topology/graph/topology.hpp"

namespace rondo {
namespace {

std::string joined_preset_names() {
    std::string names;
    for (const std::string& name : preset_names()) names += (names.empty() ? "" : ", ") + name;
    return names;
}

bool looks_like_count(std::string_view text) {
    if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

Topology load_count(std::string_view text) {
    int count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error != std::errc{} || end != text.data() + text.size() || count < 1) {
        throw TopologyError("topology " + in_quotes(text) +
                            ": the number of GPUs must be 1 to 1024");
    }
    return make_host_topology(count);
}

}  // namespace

Topology load_topology(std::string_view specification, TopologyReader reader) {
    if (looks_like_count(specification)) return load_count(specification);
    if (const auto preset = find_preset(specification)) return topology_from_json(preset->json);
    const std::filesystem::path path(specification);
    std::error_code ignored;
    if (specification.empty() || !std::filesystem::exists(path, ignored)) {
        throw TopologyError("topology " + in_quotes(specification) +
                            " is neither a number of GPUs, nor a file, nor a preset (" +
                            joined_preset_names() + ")");
    }
    try {
        return reader(read_text_file(path));
    } catch (const TopologyError& error) {
        throw TopologyError("topology file " + in_quotes(specification) + ": " + error.what() +
                            " (presets: " + joined_preset_names() + ")");
    }
}

Topology load_topology(std::string_view specification) {
    return load_topology(specification, topology_from_json);
}

}  // namespace rondo
