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

/// A rooted packing in the fewest units of one weight that reach 97 % of the throughput or more:
/// at least one per root, at most `most_units` in all. None where that many do not.
std::optional<ScaledPacking> even_packing(const ScaledPacking& exact, Units most_units);

/// A packing with larger numbers: divisible by small ones, so that cutting weights up leaves no
/// crumbs.
ScaledPacking refined(ScaledPacking coarse);

}  // namespace rondo::forest
