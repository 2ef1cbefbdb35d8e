// What rondo-topo bound finds out, before it is printed as tables or as JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/forest/exchange_bound.hpp"

namespace rondo::tool {

struct CollectiveBound {
    ForestCollective collective = ForestCollective::all_reduce;
    ForestRequest request;
    Bound bound;
};

/// all_to_all, gather or scatter.
struct ExchangeRow {
    std::string_view name;
    ExchangeBound bound;
    double algbw = 0;  ///< bytes per second; of an all_to_all those that each GPU sends
    double busbw = 0;
    bool has_root = false;
};

struct BoundReport {
    std::string topology;
    std::vector<int> gpus;
    ForestRequest request = {};                     ///< of all_reduce
    std::vector<CollectiveBound> collectives = {};  ///< all_reduce first
    std::vector<ExchangeRow> exchanges = {};
    Forest forest = {};       ///< of all_reduce
    std::string reason = {};  ///< what limits all_reduce, in words

    const Bound& all_reduce() const { return collectives.front().bound; }
};

/// GB/s.
double gigabytes(const Rational& bytes_per_second);

std::string bound_json(const BoundReport& report);

}  // namespace rondo::tool
