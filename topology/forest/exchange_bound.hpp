// How fast all_to_all, gather and scatter can be: cuts, because every unit has one way to go.
#pragma once

#include <vector>

#include "topology/forest/forest.hpp"

namespace rondo {

enum class ExchangeKind { all_to_all, gather, scatter };

struct ExchangeBound {
    bool unlimited = false;  ///< one GPU: nothing crosses a link
    Rational throughput;     ///< bytes of the whole message, all parts together, per second
    /// gather, scatter: some flow reaches it (maximum flow, minimum cut). all_to_all: it is the
    /// tightest of the cuts that were looked at (all of them up to 10 GPUs; beyond, those between
    /// every two GPUs, and up to 32 GPUs those around GPUs with numbers in a row), which nothing
    /// exceeds and flows of many kinds may not quite reach.
    bool exact = false;
    std::vector<int> inside = {};  ///< nodes of the cut that limits it, see Topology::nodes()
};

/// All parts are of one size. Of the request: model, gpus, links, helpers and root. Throws
/// ForestError.
ExchangeBound exchange_bound(const Topology& topology, const ForestRequest& request,
                             ExchangeKind kind);

}  // namespace rondo
