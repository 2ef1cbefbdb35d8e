// The only one who chooses: from what a caller wants to the schedule and the partition that are the
// fastest on this machine by simulation.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "strategy/machine_view.hpp"
#include "strategy/plan.hpp"
#include "strategy/request.hpp"
#include "topology/simulate/simulate.hpp"

namespace rondo {

struct PlannerOptions {
    std::vector<int> gpus = {};     ///< rank r is gpus[r]; empty: all GPUs
    std::uint32_t max_blocks = 64;  ///< of a rank, all lanes and replicas together
    /// Of a rank: slots of all its channels, times depth, replicas and slot_bytes, fit into it.
    std::uint64_t scratch_bytes = 32 << 20;
    BandwidthModel model = BandwidthModel::nccl;
    /// Use NVLink, XGMI and memory only. Not said: where they join every two ranks.
    std::optional<bool> fabric_only = {};
};

/// Pure but for what it keeps: the same topology, options and request give the same plan in every
/// process. May be asked by several threads; no lock is held while it simulates or builds.
///
///     const Planner planner(load_topology("hgx_h100"), {});
///     const auto plan = planner.plan({.count = 1 << 20, .element_bytes = 4});
class Planner {
public:
    /// Keeps a copy of the topology in which switches in parallel are one. Throws TopologyError for
    /// GPUs that do not exist or are named twice.
    Planner(const Topology& topology, PlannerOptions options);
    ~Planner();

    std::uint32_t ranks() const;
    const MachineView& machine() const;

    /// The fastest way to do it; a lookup when the same was asked before. Strategies whose links
    /// alone take longer than the best are not simulated, and no simulation goes on beyond the
    /// best. Throws InvalidArgument for what makes no sense or can't be done here, Unsupported for
    /// more than 128 ranks.
    std::shared_ptr<const Plan> plan(const Request& request) const;
    /// A schedule of the caller's own, which must be valid: only its partition is chosen. Throws
    /// InvalidArgument when it does not fit or exchanges data between ranks that nothing joins.
    Plan plan_custom(Schedule schedule, std::uint64_t bytes, const Tuning& tuning) const;
    /// The same as plan(), but every strategy is simulated to its end, and the reason is there.
    Plan explain(const Request& request) const;

    /// Requests with equal canonical forms have the same plan: sizes become those of classes, eight
    /// from one power of two to the next.
    Request canonical(const Request& request) const;

    /// The exact best throughput, in bytes of the message per second; 0 when nothing limits it (one
    /// rank) or when the links don't join all ranks. Destinations count as everybody.
    double bound(const Request& request) const;

    /// Runs a plan's schedule in the simulator. Bytes, replicas and slots are the request's and the
    /// plan's.
    Simulation simulate(const Plan& plan, const Request& request,
                        SimulationOptions options = {}) const;
    /// The ways that the traffic of a plan takes.
    const Routing& routing(const Plan& plan) const;

private:
    struct State;

    const std::unique_ptr<State> state_;
};

/// The largest size of the class of `bytes`.
std::uint64_t size_class(std::uint64_t bytes);

}  // namespace rondo
