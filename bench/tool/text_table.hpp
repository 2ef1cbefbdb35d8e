// The table on the terminal: nccl-tests' lines and columns first, in its order and widths, so that
// scripts which read it keep working; Rondo's own columns behind them.
#pragma once

#include <string>

#include "bench/tool/result.hpp"

namespace rondo::bench {

/// Lines that begin with #, up to the devices.
std::string header_text(const Header& header);
/// The three lines above the rows.
std::string titles_text(const Report& report);
std::string row_text(const Report& report, const Row& row);
/// Out of bounds values, average bandwidth, the verdict.
std::string footer_text(const Report& report);

/// As nccl-tests prints numbers: two decimals, fewer where they don't fit, then an exponent.
std::string fitted(double value, int width);

}  // namespace rondo::bench
