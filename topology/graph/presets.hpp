// The presets that are compiled into the library, as the JSON text of topology/presets.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace rondo {

struct Preset {
    std::string_view name;
    std::string_view json;
};

/// Sorted by name. Defined in a file that the build generates.
std::span<const Preset> embedded_presets();

std::optional<Preset> find_preset(std::string_view name);

}  // namespace rondo
