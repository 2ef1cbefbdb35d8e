// What the builders ask of a problem.
#pragma once

#include "strategy/build.hpp"

namespace rondo {

/// The schedule without lanes: collective, ranks, destinations; units are up to the builder, except
/// that in reduce_scatter and all_gather every rank has one.
Schedule start_schedule(const Strategy& strategy, const Problem& problem);

/// Cuts the message into equal units, unless the collective has fixed them already.
void cut_evenly(Schedule& schedule, std::uint32_t units);

/// True where the units belong to ranks.
bool has_owners(Collective collective);

/// Ranks that have an output of the unit.
std::vector<bool> wanted_by(const Schedule& schedule, std::uint32_t unit);

/// problem.order or 0, 1, 2..., rotated so that `first` comes first.
std::vector<std::uint32_t> order_from(const Problem& problem, std::uint32_t first);

Schedule build_ring(const Strategy& strategy, const Problem& problem);
Schedule build_direct(const Strategy& strategy, const Problem& problem);
/// Every rank folds its part of the message from all inputs and writes it to all outputs, without
/// scratch. `shares` are the ranks' parts; units that have owners are theirs whatever it says.
Schedule build_stars(const Strategy& strategy, const Problem& problem,
                     const std::vector<std::uint64_t>& shares);
Schedule build_forest_schedule(const Strategy& strategy, const Problem& problem);
/// centralized, tree, hierarchical_copy, reduction_to_one_device
Schedule build_on_trees(const Strategy& strategy, const Problem& problem);

}  // namespace rondo
