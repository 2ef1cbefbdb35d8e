// Which lanes of its ranks a forest's steps run in when everybody fetches.
#pragma once

#include <cstdint>
#include <vector>

#include "strategy/fetch_tree.hpp"

namespace rondo {

/// Lanes of the rank that needs most. `trees` are those of the units.
std::uint32_t fetch_lanes_needed(const std::vector<Tree>& trees);

/// A lane of its own for every part that a rank folds, so that no block is slower than its links,
/// and for every fetch of a rank that passes it on: what shares a link gets the same of it then.
/// Leaves fetch two units in one lane, because nobody waits for them, fewer where lanes are left.
/// `lanes` must be as many as are needed. By unit.
std::vector<FetchLanes> deal_fetch_lanes(const std::vector<Tree>& trees, std::uint32_t lanes);

}  // namespace rondo
