// The exact numbers of forest synthesis: bandwidths, weights and shares are never rounded.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>

namespace rondo {

/// Exact, of any size. `value.convert_to<double>()` rounds to the nearest double.
using Rational = boost::multiprecision::cpp_rational;

}  // namespace rondo
