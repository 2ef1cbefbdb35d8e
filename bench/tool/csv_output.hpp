// The same figures for a spreadsheet: one line per row and half.
#pragma once

#include <string>

#include "bench/tool/result.hpp"

namespace rondo::bench {

/// Comma separated, quoted where needed (RFC 4180), with a line of titles.
std::string to_csv(const Report& report);

}  // namespace rondo::bench
