// The packing problems that an analysis leads to, in integers.
#pragma once

#include <optional>

#include "topology/forest/analysis.hpp"
#include "topology/forest/packing.hpp"

namespace rondo::forest {

/// Trees with the root shares of the analysis, which must have some.
ScaledPacking rooted_packing(const Analysis& analysis);

/// Trees with free roots. None when the exact throughput is too long a number for machine integers.
std::optional<ScaledPacking> free_packing(const Analysis& analysis);

/// The same with larger numbers: divisible by small ones, so that cutting weights up leaves no
/// crumbs.
ScaledPacking refined(ScaledPacking coarse);

}  // namespace rondo::forest
