// One line at the end that a newcomer understands, and whether the demands were met.
#pragma once

#include <string>
#include <vector>

#include "bench/tool/result.hpp"

namespace rondo::bench {

/// "fastest of 3 from 4 KiB on; 0.93 of the memory limit at 64 MiB"
std::string verdict_of(const Report& report);

struct Demands {
    double limit_ratio = 0;
    std::vector<std::pair<std::string, double>> speedups = {};
};
/// One sentence for each row that missed a demand.
std::vector<std::string> missed_demands(const Report& report, const Demands& demands);

}  // namespace rondo::bench
