// Switches in parallel as one.
#pragma once

#include "topology/graph/topology.hpp"

namespace rondo {

/// The same machine, in which switches that join the same nodes by the same links are one switch
/// with wider links, as NVSwitch planes are to traffic that is spread over all of them. Every rate
/// and every bound is the same: what the one carries is split evenly among the planes. GPUs keep
/// their numbers.
Topology merge_planes(const Topology& topology);

}  // namespace rondo
