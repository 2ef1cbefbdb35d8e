// Looks up presets by name.
#include "topology/graph/presets.hpp"

#include <algorithm>

#include "topology/graph/topology.hpp"

namespace rondo {

std::optional<Preset> find_preset(std::string_view name) {
    const auto presets = embedded_presets();
    const auto found = std::ranges::find(presets, name, &Preset::name);
    return found == presets.end() ? std::nullopt : std::optional(*found);
}

std::vector<std::string> preset_names() {
    std::vector<std::string> names;
    for (const Preset& preset : embedded_presets()) names.emplace_back(preset.name);
    return names;
}

}  // namespace rondo
