// Trees that take the same edges all together, but are better shaped each.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace rondo {

using TreeEdges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// A rank that folds more parts than this at once may be slower than its links.
inline constexpr std::uint32_t few_parts_to_fold = 3;

/// Exchanges edges between spanning trees, and with `spare` ones, as long as that makes them less
/// deep, their ranks fold fewer parts at once and fewer ranks stand between others. The same input
/// gives the same result. Does nothing for more than 64 ranks.
void reshape_trees(std::vector<TreeEdges>& trees, TreeEdges spare, std::uint32_t ranks);

}  // namespace rondo
