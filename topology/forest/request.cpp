// What a request asks for, with its defaults filled in and its contradictions refused.
#include "topology/forest/request.hpp"

#include <algorithm>
#include <numeric>

namespace rondo::forest {
namespace {

bool single_root(ForestCollective collective) {
    return collective == ForestCollective::broadcast || collective == ForestCollective::reduce;
}

std::vector<Units> shares_at_root(const ForestRequest& request, const std::vector<int>& gpus) {
    if (request.shares != RootShares::natural) {
        throw ForestError("broadcast and reduce have one root; root shares can't be chosen");
    }
    const auto root = std::ranges::find(gpus, request.root);
    if (root == gpus.end()) {
        throw ForestError("the root, GPU " + std::to_string(request.root) +
                          ", is not in the allocation");
    }
    std::vector<Units> shares(gpus.size(), 0);
    shares[root - gpus.begin()] = 1;
    return shares;
}

std::vector<Units> given_shares(const ForestRequest& request, const std::vector<int>& gpus) {
    if (request.proportions.size() != gpus.size()) {
        throw ForestError("there are " + std::to_string(request.proportions.size()) +
                          " proportions for " + std::to_string(gpus.size()) + " GPUs");
    }
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        if (request.proportions[i] >= 0) continue;
        throw ForestError("the proportion of GPU " + std::to_string(gpus[i]) + " is " +
                          std::to_string(request.proportions[i]) + "; it must not be negative");
    }
    if (std::ranges::all_of(request.proportions, [](auto share) { return share == 0; })) {
        throw ForestError("all proportions are 0");
    }
    return {request.proportions.begin(), request.proportions.end()};
}

bool free_shares(const ForestRequest& request) {
    const bool all_reduce = request.collective == ForestCollective::all_reduce;
    if (request.shares == RootShares::free && !all_reduce) {
        throw ForestError("only all_reduce can have free root shares");
    }
    return all_reduce &&
           (request.shares == RootShares::free || request.shares == RootShares::natural);
}

}  // namespace

Demand resolve(const Topology& topology, const ForestRequest& request) {
    const bool all_reduce = request.collective == ForestCollective::all_reduce;
    Demand demand{.gpus = allocated_gpus(topology, request)};
    demand.up = all_reduce || request.collective == ForestCollective::reduce ||
                request.collective == ForestCollective::reduce_scatter;
    demand.down = all_reduce || request.collective == ForestCollective::broadcast ||
                  request.collective == ForestCollective::all_gather;
    demand.phases = all_reduce ? 2 : 1;
    if (!request.proportions.empty() && request.shares != RootShares::proportional) {
        throw ForestError("proportions are given, but the root shares are not proportional");
    }
    if (single_root(request.collective)) {
        demand.shares = shares_at_root(request, demand.gpus);
    } else if (request.shares == RootShares::proportional) {
        demand.shares = given_shares(request, demand.gpus);
    } else if (free_shares(request)) {
        demand.free_roots = true;
    } else {
        demand.shares.assign(demand.gpus.size(), 1);
    }
    demand.whole = std::accumulate(demand.shares.begin(), demand.shares.end(), Units{0});
    return demand;
}

}  // namespace rondo::forest
