// Chooses between the ways to pack trees: the shallowest result that has the full throughput wins.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "topology/forest/analysis.hpp"
#include "topology/forest/bypass.hpp"
#include "topology/forest/packing.hpp"

namespace rondo::forest {

/// Trees of the reduced network with weights in bytes per second that add up to the bound's
/// throughput.
using Trees = std::vector<Weighted<Rational>>;

/// The shallowest trees that the linear program finds; none when this build has no solver or it
/// finds none of at most the given depth.
std::optional<Trees> pack_by_program(const Analysis& analysis, int most_depth);

/// Without a linear program: fast and usually shallow where the analysis has root shares.
Trees pack_by_search(const Analysis& analysis);

struct EvenPacking {
    Trees trees;
    /// The network of the trees' paths; null: the reduced one.
    std::unique_ptr<const Bypass> bypass;
};

/// Trees whose weights are multiples of one, see ForestRequest::most_even_units.
std::optional<EvenPacking> pack_evenly(const Analysis& analysis, int most_units);

/// The better of the first two. Trees with free roots are rooted at their centre; equal trees are
/// joined.
Trees pack_trees(const Analysis& analysis);

}  // namespace rondo::forest
