// The trees of a forest as a picture that a browser shows.
#pragma once

#include <string>

#include "topology/tool/bound.hpp"

namespace rondo::tool {

/// SVG: one panel with the cables between the GPUs that take part, and one for each of the heaviest
/// trees, with the share of the data that it carries. Arrows lead from the root, which is filled.
std::string tree_picture(const Topology& topology, const BoundReport& report);

}  // namespace rondo::tool
