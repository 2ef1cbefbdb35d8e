// The JSON file: nccl-tests' format, version 3, with Rondo's own figures below the keys "rondo".
#pragma once

#include <string>

#include "bench/tool/result.hpp"

namespace rondo::bench {

std::string to_json(const Report& report);

/// A new file of that name, or with .0, .1 ... behind it where the name is taken, as nccl-tests
/// does. Returns the name. Throws rondo::Error that names the file.
std::string write_new_file(const std::string& name, const std::string& text);

}  // namespace rondo::bench
