// Conditions that the trees of a rooted packing have to respect, and how violated ones are found.
#pragma once

#include <optional>
#include <vector>

#include "topology/forest/fixed_roots.hpp"
#include "topology/forest/packing.hpp"

namespace rondo::forest {

/// A vertex set that holds a terminal. Every tree whose root is outside enters it at least once;
/// the slack limits how often, in weight times entries, all trees together may enter it more often
/// than that.
struct Cut {
    std::vector<bool> inside;  ///< per vertex
    Units slack = 0;           ///< capacity into the set - weight of the roots outside

    bool entered_by(int tail, int head) const { return inside[head] && !inside[tail]; }
};

Units slack_of(const Packing& packing, const std::vector<bool>& inside);

/// Finds sets whose slack is negative: one maximum flow per terminal.
class CutOracle {
public:
    explicit CutOracle(const Network& network) : network_(network), flow_(network) {}

    /// A set with negative slack; none if trees for all of the weight fit (Edmonds; Bang-Jensen,
    /// Frank and Jackson when there are relays, whose capacities in and out must be equal).
    std::optional<std::vector<bool>> violated(const Packing& packing);

private:
    const Network& network_;
    RootedFlow flow_;
    int start_ = 0;  ///< where a violation was found last; the next one is likely there
};

/// The cuts that a packing has met, kept so that the ones a step enters are found at once.
class KnownCuts {
public:
    explicit KnownCuts(const Network& network)
        : network_(network), entered_(2 * network.edges.size()) {}

    void add(Cut cut);
    const std::vector<Cut>& all() const { return cuts_; }
    /// Indices of the cuts that a step enters.
    const std::vector<int>& entered_by(Step step) const {
        return entered_[2 * step.edge + (step.forward ? 0 : 1)];
    }
    /// How many entries more than necessary the tree makes, per cut.
    std::vector<int> extra_entries(const PackedTree& tree) const;
    void take(const PackedTree& tree, Units weight);

private:
    const Network& network_;
    std::vector<Cut> cuts_;
    std::vector<std::vector<int>> entered_;  ///< per edge and direction
};

}  // namespace rondo::forest
