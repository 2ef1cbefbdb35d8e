// Which resources can ever be full.
#pragma once

#include <vector>

#include "topology/simulate/sharing.hpp"

namespace rondo::simulation {

/// For each resource whether it has to be looked at: false where the others that are true keep
/// its use below its capacity, whatever runs. Leaving it out then changes no rate.
std::vector<bool> find_limits(const std::vector<double>& capacities,
                              const std::vector<Demand>& demands);

}  // namespace rondo::simulation
