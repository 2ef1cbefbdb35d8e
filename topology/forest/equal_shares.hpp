// A proof, where there is one, that no choice of root shares beats equal ones.
#pragma once

#include <vector>

#include "topology/forest/fixed_roots.hpp"
#include "topology/forest/network.hpp"

namespace rondo::forest {

/// Edge prices from the sets around the terminals that equal shares fill to the brim. If these sets
/// part the terminals into groups of one size, the prices prove that equal shares are optimal for
/// all_reduce.
std::vector<Rational> partition_prices(const Network& network, const Ratio& scale);

}  // namespace rondo::forest
