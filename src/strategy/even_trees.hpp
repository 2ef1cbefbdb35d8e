// Trees of one weight in place of those of a packing, which have any: units of one size move at one
// pace, and a chunk of each is what its link has room for.
#pragma once

#include <vector>

#include "strategy/machine_view.hpp"

namespace rondo {

/// For the whole message, or for a part per rank where units have owners: the trees of the packing
/// rounded to whole units, then grown anew one by one where that takes load from the busiest links,
/// until nothing gets better. Sets with more units follow as long as they use the links better; at
/// most six, the best last. Without links (packing.routing is null): every tree is one unit.
std::vector<EvenTrees> find_even_trees(const TreePacking& packing, Collective collective);

/// One unit per part, with the part's heaviest tree.
EvenTrees heaviest_trees(const TreePacking& packing, Collective collective);

}  // namespace rondo
