// The report: one HTML file that people look at, with charts, tables and the machine.
#pragma once

#include <string>

#include "bench/tool/result.hpp"

namespace rondo::bench {

/// Everything in one file, without network. It contains the JSON of the run, and its tables carry
/// the same values.
std::string to_html(const Report& report);

}  // namespace rondo::bench
