// What rondo-topo bound finds out, before it is printed as tables or as JSON.
#pragma once

#include <string>
#include <vector>

#include "topology/forest/forest.hpp"

namespace rondo::tool {

struct CollectiveBound {
    ForestCollective collective = ForestCollective::all_reduce;
    ForestRequest request;
    Bound bound;
};

struct BoundReport {
    std::string topology;
    std::vector<int> gpus;
    ForestRequest request = {};                     ///< of all_reduce
    std::vector<CollectiveBound> collectives = {};  ///< all_reduce first
    Forest forest = {};                             ///< of all_reduce
    std::string reason = {};                        ///< what limits all_reduce, in words

    const Bound& all_reduce() const { return collectives.front().bound; }
};

/// GB/s.
double gigabytes(const Rational& bytes_per_second);

std::string bound_json(const BoundReport& report);

}  // namespace rondo::tool
