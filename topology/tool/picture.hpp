// A topology as a picture that a browser shows.
#pragma once

#include <string>

#include "topology/graph/topology.hpp"

namespace rondo::tool {

/// SVG: nodes in rows (or GPUs around their switches, where there are many), one line per cable,
/// colour by kind, width by bandwidth, with a legend. Details are in tooltips.
std::string picture(const Topology& topology);

}  // namespace rondo::tool
