// What strategies see of a machine.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rondo/schedule.hpp"
#include "topology/simulate/routes.hpp"

namespace rondo {

/// A spanning tree of the ranks and its part of the data.
struct WeightedTree {
    std::vector<std::uint32_t> parents = {};  ///< of each rank; the root is its own
    double weight = 0;                        ///< in proportion to the others'
};

/// Trees of one weight: so many units of one size for every part of the message, each with a tree
/// of its own.
struct EvenTrees {
    std::vector<std::vector<WeightedTree>> parts = {};  ///< of each part: the tree of each unit
    double share = 1;  ///< of the packing's throughput, by the busiest link

    std::uint32_t units() const { return static_cast<std::uint32_t>(parts.front().size()); }
};

/// Trees that use the links of the machine as well as any trees can, for one collective and root.
struct TreePacking {
    std::vector<WeightedTree> trees = {};
    std::shared_ptr<const Routing> routing = {};  ///< the ways that the trees were made for
    double throughput = 0;     ///< exact bound, bytes of the message per second; 0: nothing limits
    std::string problem = {};  ///< why there are none; then the others are empty
};

/// Finds out about order, halves and trees when a strategy first asks, and keeps it. May be asked
/// by several threads; no lock is held while anything is computed.
class MachineView {
public:
    /// `ranks` ranks that all reach each other, about which nothing more is known: rings go 0, 1,
    /// 2..., the first half has the lower ranks, trees are stars. For tests and for machines that
    /// could not be looked at.
    explicit MachineView(std::uint32_t ranks);
    /// Rank r is GPU options.gpus[r]. Keeps a reference to the topology. Throws TopologyError for
    /// GPUs that do not exist or are named twice.
    MachineView(const Topology& topology, const RoutingOptions& options);

    std::uint32_t ranks() const { return ranks_; }
    /// The device of a rank.
    int device(std::uint32_t rank) const;
    /// Null when nothing is known about the wiring.
    const Routing* routing() const { return routing_.get(); }

    /// Whether a kernel of rank `from` may read and write the memory of rank `to`. Where not,
    /// ranks exchange data by channels only.
    bool reaches(std::uint32_t from, std::uint32_t to) const;
    bool all_reach_all() const { return all_reach_all_; }

    /// Ranks in an order in which neighbours are well connected.
    const std::vector<std::uint32_t>& ring_order() const;
    /// The same, rotated so that `first` comes first.
    std::vector<std::uint32_t> ring_order_from(std::uint32_t first) const;
    /// Which half of the machine each rank is in, 0 or 1.
    const std::vector<std::uint32_t>& halves() const;
    /// Trees for this collective: rooted at `root` for reduce and broadcast, gather and scatter, at
    /// every rank for reduce_scatter and all_gather.
    const TreePacking& trees(Collective collective, std::uint32_t root) const;
    /// The same as units of one size: few units first, each set better than those before. To find
    /// them takes some milliseconds, which small messages are not worth.
    const std::vector<EvenTrees>& even_trees(Collective collective, std::uint32_t root) const;

    /// What a test knows better.
    void set_ring_order(std::vector<std::uint32_t> order) { order_ = std::move(order); }
    void set_halves(std::vector<std::uint32_t> halves) { halves_ = std::move(halves); }
    /// For every collective and root.
    void set_trees(std::vector<WeightedTree> trees);
    void set_reach(std::uint32_t from, std::uint32_t to, bool reaches);

private:
    template <class Value>
    using ByRoot = std::map<std::pair<Collective, std::uint32_t>, std::unique_ptr<const Value>>;

    template <class Value, class Find>
    const Value& find_once(ByRoot<Value>& known, Collective collective, std::uint32_t root,
                           Find find) const;
    TreePacking find_trees(Collective collective, std::uint32_t root) const;
    TreePacking exchange_packing(Collective collective, std::uint32_t root) const;

    std::uint32_t ranks_;
    std::shared_ptr<const Routing> routing_;
    std::vector<bool> reach_;  ///< ranks * ranks; empty: everybody
    bool all_reach_all_ = true;
    std::optional<TreePacking> given_trees_;
    mutable std::mutex mutex_;  ///< of what follows
    mutable std::optional<std::vector<std::uint32_t>> order_;
    mutable std::optional<std::vector<std::uint32_t>> halves_;
    mutable ByRoot<TreePacking> trees_;
    mutable ByRoot<std::vector<EvenTrees>> even_trees_;
};

}  // namespace rondo
