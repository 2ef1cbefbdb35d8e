// Forest: the exact best throughput of tree collectives on any topology, and weighted trees that
// reach it.
//
// A collective's data is cut into parts, one per tree, in proportion to the trees' weights. A tree
// reduces its part from the leaves to its root, or broadcasts it from the root to the leaves, or
// (all_reduce) both at once, pipelined. Throughput = the sum of the weights in bytes per second,
// when no link carries more than its bandwidth. Switches, CPUs, NICs and helper GPUs pass data on;
// they neither copy nor add (in-switch reduction is outside this model).
//
// A link that is slower in one direction than in the other counts with the slower one in both; a
// link that exists in one direction only is not used. Bound::symmetric tells whether that happened.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topology/forest/rational.hpp"
#include "topology/graph/error.hpp"
#include "topology/graph/topology.hpp"

namespace rondo {

/// A request that can't be served; the text names the value or the parts that are not joined.
class ForestError : public TopologyError {
public:
    using TopologyError::TopologyError;
};

enum class ForestCollective { all_reduce, broadcast, reduce, all_gather, reduce_scatter };

/// Which links a forest may use. `nvlink` means the GPU interconnect: NVLink, XGMI and shared
/// memory.
enum class LinkFilter { all, nvlink };

/// How much of the data each GPU is the root of.
enum class RootShares {
    natural,       ///< free for all_reduce, equal for all_gather and reduce_scatter
    equal,         ///< all the same; all_reduce then is a reduce_scatter and an all_gather
    free,          ///< whatever gives the highest throughput; all_reduce only
    proportional,  ///< as ForestRequest::proportions says
};

struct ForestRequest {
    BandwidthModel model = BandwidthModel::nccl;
    ForestCollective collective = ForestCollective::all_reduce;
    std::vector<int> gpus = {};  ///< the allocation; empty: all GPUs
    LinkFilter links = LinkFilter::all;
    bool helpers = false;  ///< GPUs outside the allocation may pass data on
    int root = 0;          ///< of broadcast and reduce: a GPU of the allocation
    RootShares shares = RootShares::natural;
    /// Per GPU of the allocation; not negative, not all zero.
    std::vector<std::int32_t> proportions = {};
    /// Given root shares: rather than the shallowest trees, some whose weights are multiples of
    /// one, at most so many times, even if that costs up to 3 % of the throughput. Where there are
    /// none, or only deep ones: as if 0.
    int most_even_units = 0;
};

/// Why no forest can be faster. Any certificate proves some bound, see proven_bound(); that of a
/// Bound proves it.
struct Certificate {
    /// What one unit of weight pays for each use of the links between two nodes.
    struct Price {
        int node = 0;  ///< indices into Topology::nodes()
        int other = 0;
        Rational price;
    };
    /// Free root shares: every tree costs at least some amount at these prices, and all links
    /// together are worth the sum of bandwidth * price; the quotient is the bound. Links that are
    /// not listed are free of charge.
    std::vector<Price> prices;
    /// Given root shares: the data whose roots are outside this set of nodes has to enter it; that
    /// takes bandwidth.
    std::vector<int> entered;
};

struct Bound {
    bool unlimited = false;  ///< one GPU: nothing crosses a link, the throughputs below are 0
    Rational throughput;     ///< bytes per second (algbw) that build_forest() reaches
    Rational equal_shares;   ///< the same with equal root shares; 0 for broadcast and reduce
    Rational proven;         ///< no forest exceeds this: proven_bound() of the certificate
    bool symmetric = true;   ///< false: some links were counted as slower than they are, see above
    std::string note;        ///< why throughput < proven, if so
    Certificate certificate;

    bool exact() const { return throughput == proven; }
};

/// A way through the machine, and the part of the edge's data that takes it.
struct ForestRoute {
    Rational share;
    std::vector<int> links;  ///< indices into Topology::links(), in the order of travel
};

struct ForestEdge {
    int parent = 0;  ///< GPU numbers (Topology::gpu_node)
    int child = 0;
    std::vector<ForestRoute>
        down;                     ///< parent to child; empty when the collective does not broadcast
    std::vector<ForestRoute> up;  ///< child to parent; empty when the collective does not reduce
};

struct ForestTree {
    int root = 0;
    Rational weight;  ///< bytes per second on each link that an edge uses
    int depth = 0;
    std::vector<ForestEdge> edges = {};  ///< an edge comes after the one that reaches its parent
};

struct Forest {
    std::vector<ForestTree> trees;  ///< heaviest first
    Rational throughput;            ///< the sum of the weights
    int depth = 0;                  ///< of the deepest tree
    Bound bound;
};

/// The best throughput and the reason why no forest does better. Throws ForestError.
Bound forest_bound(const Topology& topology, const ForestRequest& request);

/// Trees whose weights add up to forest_bound().throughput, or a little less where the request
/// wants even ones. With one GPU: one tree without edges, weight 1. Throws ForestError.
Forest build_forest(const Topology& topology, const ForestRequest& request);

/// Checks a forest, its bound included, in exact arithmetic and without trusting anything that
/// built it: names the first violation, nothing when all is well.
std::optional<std::string> verify_forest(const Topology& topology, const ForestRequest& request,
                                         const Forest& forest);

/// The upper bound that a certificate proves for the request, whoever made it. Throws ForestError
/// when it proves none.
Rational proven_bound(const Topology& topology, const ForestRequest& request,
                      const Certificate& certificate);

/// One or two sentences that say what limits the throughput, with the ids of the nodes.
std::string explain_bound(const Topology& topology, const ForestRequest& request,
                          const Bound& bound);

}  // namespace rondo
