// What of a machine matters for strategies, and which strategy is the fastest on it by simulation.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rondo/schedule.hpp"
#include "rondo/strategy.hpp"
#include "strategy/build.hpp"
#include "topology/simulate/simulate.hpp"

namespace rondo {

/// What is to be done. Everything in it is the same on all ranks.
struct Task {
    Collective collective = Collective::all_reduce;
    std::uint64_t bytes = 0;  ///< of the whole message
    std::uint32_t root = 0;
    std::vector<std::uint32_t> destinations = {};
    std::vector<std::uint64_t> counts = {};

    bool operator==(const Task&) const = default;
};

/// How a strategy's work is cut.
struct Cutting {
    std::uint32_t lanes = 1;
    std::uint32_t depth = 2;
    std::uint64_t slot_bytes = 0;
    std::uint32_t units_per_lane = 0;  ///< see Problem
    bool leaves_push = false;          ///< the same
    bool fetches = false;              ///< the same

    bool operator==(const Cutting&) const = default;
};

struct Candidate {
    Strategy strategy = {};
    Cutting cutting = {};
    double seconds = 0;
    /// False: it takes `seconds` or more, which is too much already.
    bool simulated = false;
    std::string problem = {};  ///< why it can't be done here; then seconds is 0
};

struct Choice {
    std::vector<Candidate> candidates = {};  ///< one per strategy, best first; what can't be last
    std::string reason = {};                 ///< in words, with the runner-up

    const Candidate& chosen() const { return candidates.front(); }
};

/// Pure but for what it keeps: the same topology, GPUs and task give the same choice everywhere.
/// Keeps a reference to the topology. Not for several threads at once.
class Planner {
public:
    /// Throws TopologyError for GPUs that do not exist or are named twice.
    Planner(const Topology& topology, RoutingOptions options);
    ~Planner();

    const Topology& topology() const { return routing_.topology(); }
    const Routing& routing() const { return routing_; }
    std::uint32_t ranks() const { return routing_.ranks(); }
    /// Every two ranks reach each other's memory.
    bool all_are_peers() const;
    /// All ranks are virtual GPUs in one memory.
    bool is_one_memory() const;

    /// An order in which the narrowest hop of a ring is as wide as can be found.
    const std::vector<std::uint32_t>& ring_order() const;

    /// Adds what of the machine matters to the strategy: order, halves and, for forest, trees.
    /// Throws InvalidArgument when the links don't join all ranks for a forest.
    void complete(Problem& problem, const Strategy& strategy) const;

    /// Strategies that can do the task here, with their ways to cut it.
    std::vector<Candidate> candidates(const Task& task) const;
    /// Every way to cut the task for one strategy.
    std::vector<Candidate> cuttings(const Strategy& strategy, const Task& task) const;

    /// The ways that the strategy's traffic takes.
    const Routing& routing_for(const Task& task, const Strategy& strategy) const;

    Schedule schedule(const Task& task, const Candidate& candidate) const;
    /// The size of the message and of the slots is the task's and the candidate's.
    Simulation simulate(const Task& task, const Candidate& candidate,
                        SimulationOptions options = {}) const;

    /// The fastest by simulation. Candidates whose links alone take longer than the best are not
    /// simulated, and no simulation goes on beyond the best, unless `all`. Throws InvalidArgument
    /// when nothing can do it.
    Choice choose(const Task& task, bool all = false) const;
    /// The best way to cut the task for this strategy. Throws InvalidArgument when it can't do it.
    Choice choose(const Task& task, const Strategy& strategy) const;

    /// The exact best throughput of trees, bytes per second; 0 when nothing limits it (one GPU) or
    /// when the links don't join all ranks.
    double bound(const Task& task) const;

private:
    struct Trees;
    struct PieceKey;
    struct Piece;
    struct Trial;

    const Trees& trees(Collective collective, std::uint32_t root) const;
    std::vector<Strategy> strategies(const Task& task) const;
    const Piece& piece(PieceKey key) const;
    std::vector<Trial> trials(const Strategy& strategy, const Task& task) const;
    /// The best of each strategy.
    static std::vector<Candidate> evaluate(const Task& task, std::vector<Trial> trials, bool all);

    Routing routing_;
    mutable std::vector<std::uint32_t> order_;
    mutable std::vector<std::uint32_t> halves_;
    mutable std::map<std::pair<Collective, std::uint32_t>, std::unique_ptr<Trees>> trees_;
    mutable std::vector<std::unique_ptr<Piece>> pieces_;  ///< for other sizes
};

/// Sizes that get the same choice: the largest size of the class of `bytes`, eight classes from one
/// power of two to the next.
std::uint64_t size_class(std::uint64_t bytes);

/// Why this choice was made, in words: the best against the runner-up, and what is wrong with a
/// ring where it loses.
std::string explain_choice(const Planner& planner, const Task& task, const Choice& choice);

}  // namespace rondo
