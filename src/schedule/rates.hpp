// Rates: how often a chunk uses a channel or event.
#pragma once

#include <string>
#include <vector>

#include "rondo/schedule.hpp"

namespace rondo {

/// Of each channel.
std::vector<std::uint32_t> pushes_per_chunk(const Schedule& schedule);

/// As much must come out of a link as goes in. What is wrong with the first link whose ends differ;
/// empty when all agree.
std::string find_uneven_rate(const Schedule& schedule);

}  // namespace rondo
