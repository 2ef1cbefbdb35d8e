// How time and memory grow with the number of GPUs and with the message.
#pragma once

#include <functional>
#include <string>

#include "bench/tool/options.hpp"
#include "bench/tool/result.hpp"

namespace rondo::bench {

/// 1, 2, 4 ... GPUs up to options.ranks() and the sizes of the options, each with a new
/// communicator. Calls `done` after each point. Points that do not fit into memory are left out
/// with the reason.
void measure_growth(const Options& options, Report& report,
                    const std::function<void(const GrowthPoint&)>& done);

std::string growth_titles();
std::string growth_line(const GrowthPoint& point);

}  // namespace rondo::bench
