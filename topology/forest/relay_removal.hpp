// Replaces all relays by arcs between terminals, exactly: no cut that matters gets smaller.
#pragma once

#include "topology/forest/arc_set.hpp"
#include "topology/forest/packing.hpp"

namespace rondo::forest {

/// Splits off pairs of arcs (u, relay), (relay, t) into arcs (u, t) as far as every terminal can
/// still be reached by the whole weight (Bang-Jensen, Frank, Jackson 1995). The packing is rooted
/// and packable, and what enters a relay can leave it. Two flows per terminal and pair.
ArcSet remove_relays(const Packing& packing);

}  // namespace rondo::forest
