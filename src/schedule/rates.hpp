// Rates: per chunk, as much comes out of a channel or event as goes in.
#pragma once

#include <string>

#include "rondo/schedule.hpp"

namespace rondo {

/// What is wrong with the first link whose ends differ; empty when all agree.
std::string find_uneven_rate(const Schedule& schedule);

}  // namespace rondo
