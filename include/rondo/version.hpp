// The version of the library that a program runs with.
#pragma once

#include <string_view>

#include "rondo/export.hpp"

namespace rondo {

/// "0.1.0". Of the shared library that was loaded, which may be newer than these headers.
RONDO_API std::string_view version() noexcept;

}  // namespace rondo
