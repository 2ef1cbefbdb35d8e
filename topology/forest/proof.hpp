// Upper bounds on throughput that follow from a certificate, computed on the network as the
// topology has it.
#pragma once

#include <vector>

#include "topology/forest/forest.hpp"
#include "topology/forest/network.hpp"
#include "topology/forest/request.hpp"

namespace rondo::forest {

/// The cheapest spanning tree over the terminals at the given prices per edge; relays are passed,
/// not joined.
Rational cheapest_tree(const Network& network, const std::vector<Rational>& prices);

/// Worth of all edges / cheapest tree. 0 when the cheapest tree costs nothing: that proves no
/// bound.
Rational bound_by_prices(const Network& network, const std::vector<Rational>& prices);

/// Bandwidth into the set, for the part of the data whose roots are outside. 0 when that is
/// nothing.
Rational bound_by_cut(const Network& network, const Demand& demand,
                      const std::vector<bool>& inside);

Certificate price_certificate(const PhysicalNetwork& physical, const std::vector<Rational>& prices);
Certificate cut_certificate(const PhysicalNetwork& physical, const std::vector<bool>& inside);

/// What a certificate says about the edges and vertices of the network. Throws ForestError for
/// nodes or prices that make no sense.
std::vector<Rational> edge_prices(const PhysicalNetwork& physical, const Certificate& certificate);
std::vector<bool> inside_of(const PhysicalNetwork& physical, const Certificate& certificate);

}  // namespace rondo::forest
