// all_to_all, gather and scatter: every unit goes from one rank to one rank.
#pragma once

#include "strategy/strategy_entry.hpp"

namespace rondo {

/// Collectives that build_exchange() is for.
bool is_exchange(Collective collective);

/// Units go straight to their receivers, or (`relays`) over other ranks where that takes load from
/// the busiest links.
Schedule build_exchange(const BuildInput& input, bool relays);

}  // namespace rondo
