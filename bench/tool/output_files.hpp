// The files that a run leaves behind: JSON, CSV and the report.
#pragma once

#include "bench/tool/options.hpp"
#include "bench/tool/result.hpp"

namespace rondo::bench {

/// Throws InvalidArgument that names the first file which can't be written, so that nobody learns
/// it at the end of a long run.
void require_writable_outputs(const Options& options);

/// Writes all that were asked for and says where they are. One that can't be written does not keep
/// the others from it; then throws Error that names them.
void write_outputs(const Options& options, const Report& report);

}  // namespace rondo::bench
