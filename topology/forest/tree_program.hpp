// The best packing of shallow trees by column generation, in exact arithmetic at the end.
#pragma once

#include <optional>
#include <random>
#include <set>
#include <vector>

#include "topology/forest/master.hpp"
#include "topology/forest/packing.hpp"
#include "topology/forest/pricing.hpp"

namespace rondo::forest {

/// Maximises the total weight of the trees in a packing. Each round solves for the weights of the
/// trees known so far and the prices of all capacities, and looks for trees that cost less than 1
/// at these prices. Edges that can't carry 1e-10 of the total are left out.
class TreeProgram {
public:
    struct Options {
        int depth = 0;     ///< no tree is deeper
        int patience = 0;  ///< the search ends after so many rounds in a row without progress,
        int rounds = 0;    ///< or after so many rounds of all runs of the program
        int attempts = 1;  ///< variations of every root before a round gives up
        /// Variations are tried only when this part of the packing's total has been reached.
        double promising = 0;
        bool until_total = true;  ///< end as soon as the packing's total is reached
    };

    /// The packing must outlive the program. Its total may be an estimate when `until_total` is not
    /// used.
    explicit TreeProgram(const Packing& packing);

    void run(const Options& options);

    /// The exact weights of the last round; none when there was no round or rounding hid that they
    /// are not all positive.
    std::optional<std::vector<Weighted<Rational>>> exact_trees() const;
    /// The exact prices of the last round, per slot; no packing of the trees found so far has a
    /// total above the sum of capacity * price. None as above.
    std::optional<std::vector<Rational>> exact_prices() const;

private:
    struct Search {
        int root = 0;
        double noise = 0;
    };

    std::vector<Search> searches(bool unlimited) const;
    bool add_trees(const Options& options);
    bool add_tree(PackedTree tree);
    std::vector<Load> loads_of(const PackedTree& tree) const;
    std::vector<double> edge_prices() const;

    const Packing& packing_;
    double scale_;
    TreePricer pricer_;
    Master master_;
    std::vector<bool> usable_;    ///< per slot: wide enough to matter
    std::vector<double> prices_;  ///< per slot, then per root; empty before the first round
    std::vector<PackedTree> trees_;
    std::vector<std::vector<Load>> loads_;
    std::set<std::vector<Load>> seen_;
    std::mt19937 random_;
    int rounds_ = 0;
};

}  // namespace rondo::forest
