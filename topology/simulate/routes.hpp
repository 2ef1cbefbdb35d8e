// Which links the traffic between two ranks takes.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "topology/graph/topology.hpp"
#include "topology/simulate/constants.hpp"

namespace rondo {

struct Forest;

/// A share of the traffic from one rank to another, on one way.
struct Route {
    double share = 0;
    std::vector<int> links = {};  ///< indices into Topology::links(), in the order of travel
};

/// Everything between two ranks, in one direction.
struct Path {
    std::vector<Route> routes = {};
    simulation::PathKind kind = simulation::PathKind::fabric;
    double given_latency = 0;  ///< seconds: what the topology says about the links of a way

    double flag_seconds() const { return simulation::flag_seconds(kind) + given_latency; }
};

struct RoutingOptions {
    std::vector<int> gpus = {};  ///< rank r is on gpus[r]; empty: all GPUs
    BandwidthModel model = BandwidthModel::nccl;
    bool fabric_only = false;  ///< NVLink, XGMI and memory only
};

/// Ways between ranks on a topology, found when they are first asked for. Keeps a reference to the
/// topology. May be asked by several threads; no lock is held while a way is searched.
///
/// Two GPUs that the fabric (NVLink, XGMI, memory) joins without another GPU between use it alone,
/// spread over all its shortest ways in proportion to what these carry: so do NVSwitch planes.
/// Others use the shortest ways over PCI, CPUs and NICs. Nothing passes through a GPU.
class Routing {
public:
    /// Throws TopologyError for GPUs that do not exist or are named twice.
    Routing(const Topology& topology, RoutingOptions options);
    /// With what the other has found so far.
    Routing(const Routing& other);
    Routing& operator=(const Routing&) = delete;

    const Topology& topology() const { return *topology_; }
    BandwidthModel model() const { return options_.model; }
    bool fabric_only() const { return options_.fabric_only; }
    std::uint32_t ranks() const { return static_cast<std::uint32_t>(options_.gpus.size()); }
    const std::vector<int>& gpus() const { return options_.gpus; }
    const Node& gpu(std::uint32_t rank) const {
        return topology_
            ->nodes()[static_cast<std::size_t>(topology_->gpu_node(options_.gpus[rank]))];
    }

    /// Null when nothing joins the two.
    const Path* path(std::uint32_t from, std::uint32_t to) const;
    /// Bytes per second of the path, when nobody else uses it; 0 without one.
    double bandwidth(std::uint32_t from, std::uint32_t to) const;
    bool joins_all() const;

    /// From now on the traffic between two ranks takes the routes of the forest's trees, where it
    /// has some: all trees' edges between the two together, in proportion to their weights.
    /// To be called before others use the routing.
    void use(const Forest& forest);

private:
    Path find(std::uint32_t from, std::uint32_t to) const;
    std::vector<Route> spread(int from, int to, bool fabric_only) const;
    void classify(Path& path) const;

    const Topology* topology_;
    RoutingOptions options_;
    std::vector<std::vector<int>> outgoing_;  ///< links by source node
    mutable std::mutex mutex_;
    mutable std::vector<std::shared_ptr<const Path>> paths_;  ///< what was found, never replaced
};

}  // namespace rondo
