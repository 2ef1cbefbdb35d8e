// Grows one shallow tree that respects the capacities and all cuts known so far.
#pragma once

#include <optional>
#include <random>
#include <vector>

#include "topology/forest/cut.hpp"
#include "topology/forest/packing.hpp"

namespace rondo::forest {

struct GrowthLimits {
    Units weight = 1;  ///< the tree must be able to have this weight
    /// How much of a cut's slack a tree may use, as a multiple of its share of the total weight; 0:
    /// all of it.
    int fairness = 0;
};

class Growth {
public:
    Growth(const Packing& packing, const KnownCuts& cuts);

    /// A spanning tree within the limits; none when breadth-first growth gets stuck. Ties are
    /// broken at random.
    std::optional<PackedTree> grow(int root, const GrowthLimits& limits, std::mt19937& random);

private:
    struct Reach {
        double cost = 0;
        Step last = {};
        bool settled = false;
    };

    void start(int root, const GrowthLimits& limits, std::mt19937& random);
    void search(int from);
    void relax(int vertex, Step step);
    bool fits(Step step) const;
    double cost(Step step) const;
    std::optional<PackedEdge> nearest(int from);
    bool allowed(const Path& path);
    void attach(PackedEdge edge);
    void count(Step step, int amount);

    const Packing& packing_;
    const Network& network_;
    const KnownCuts& cuts_;
    std::vector<std::vector<int>> incident_;
    GrowthLimits limits_;
    PackedTree tree_;
    std::vector<bool> reached_;   ///< per terminal
    std::vector<int> load_;       ///< per slot
    std::vector<int> allowance_;  ///< per cut: entries that are left
    std::vector<double> taste_;   ///< per edge: a little random cost
    std::vector<Reach> reach_;
    std::vector<int> touched_;
};

}  // namespace rondo::forest
