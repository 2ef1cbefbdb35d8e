// Where the nodes of a picture go.
#pragma once

#include <vector>

#include "topology/graph/topology.hpp"

namespace rondo::tool {

struct Point {
    double x = 0;
    double y = 0;
};

struct Layout {
    double width = 0;
    double height = 0;
    std::vector<Point> centres;  ///< per node
    std::vector<int> rows;       ///< per node, from above; -1 for all in a circle
    int gpu_row = 0;
    double box_width = 0;
    double box_height = 26;
};

/// How many characters of an id fit into a box.
inline constexpr std::size_t longest_label = 14;

/// How far the arc between two nodes of a row bends away from it.
double arc_depth(double distance);

/// Rows from above: network switches, NICs of GPUs, CPUs, PCI switches by level, GPUs and other
/// NICs, ports, switches of the GPU fabric. Nodes stand near their neighbours.
Layout lay_out(const Topology& topology);

}  // namespace rondo::tool
