// Packs trees exactly whenever they fit, however deep: for what is left when the search for shallow
// ones is stuck.
#pragma once

#include <vector>

#include "topology/forest/packing.hpp"

namespace rondo::forest {

/// Trees whose weights at each root add up to the packing's roots. The packing is rooted and
/// packable. Trees grow edge by edge, each checked by one maximum flow (Edmonds; Bérczi and Frank
/// 2010).
std::vector<Weighted<Units>> pack_exactly(const Packing& packing);

}  // namespace rondo::forest
