// Turns a tree round so that its root is in the middle.
#pragma once

#include "topology/forest/packing.hpp"

namespace rondo::forest {

/// The same edges, rooted where the tree is least deep; paths are turned with them.
PackedTree rooted_at_centre(const PackedTree& tree, int terminals);

}  // namespace rondo::forest
