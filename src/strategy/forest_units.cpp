#include "strategy/forest_units.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "strategy/forest_lanes.hpp"
#include "strategy/weighted_trees.hpp"

namespace rondo {
namespace {

/// Finer cuts than so many units above what the lanes need cost more steps than they gain.
constexpr std::size_t most_extra_units = 64;

/// `units` units for trees of these weights, so that the largest excess is as small as can be.
std::vector<std::uint32_t> apportion(const std::vector<double>& weights, std::size_t units) {
    std::vector<std::uint32_t> parts(weights.size());
    for (std::size_t unit = 0; unit < units; ++unit) {
        std::size_t best = 0;
        for (std::size_t i = 1; i < weights.size(); ++i) {
            if ((parts[i] + 1) * weights[best] < (parts[best] + 1) * weights[i]) best = i;
        }
        ++parts[best];
    }
    return parts;
}

double excess(const std::vector<double>& weights, const std::vector<std::uint32_t>& parts,
              std::size_t units) {
    double worst = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        worst = std::max(worst, parts[i] / (weights[i] * static_cast<double>(units)));
    }
    return worst;
}

/// The tree with each of its inner ranks as its root that makes it no deeper.
std::vector<WeightedTree> with_any_root(const WeightedTree& tree) {
    const auto depth = [](const WeightedTree& it) {
        return std::ranges::max(depths_in(folds_of(it)));
    };
    std::vector<WeightedTree> result;
    for (std::uint32_t root = 0; root < tree.parents.size(); ++root) {
        if (std::ranges::count(tree.parents, root) == 0) continue;
        WeightedTree other = with_root(tree, root);
        if (depth(other) <= depth(tree)) result.push_back(std::move(other));
    }
    return result;
}

}  // namespace

std::vector<std::uint32_t> unit_counts(const std::vector<WeightedTree>& trees, std::size_t least) {
    double total = 0;
    for (const WeightedTree& tree : trees) total += tree.weight;
    std::vector<double> weights;
    for (const WeightedTree& tree : trees) weights.push_back(tree.weight / total);
    std::vector<std::uint32_t> best;
    double best_excess = 0;
    for (std::size_t units = least; units <= least + most_extra_units; ++units) {
        std::vector<std::uint32_t> parts = apportion(weights, units);
        const double worst = excess(weights, parts, units);
        if (best.empty() || worst < best_excess) {
            best = std::move(parts);
            best_excess = worst;
        }
        if (best_excess <= tolerated_excess) break;
    }
    return best;
}

UnitsApart units_apart(const Problem& problem, const std::vector<WeightedTree>& trees) {
    double total = 0;
    for (const WeightedTree& tree : trees) total += tree.weight;
    std::vector<double> weights;
    UnitsApart result;
    std::vector<Tree> folds;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> rootings;  // of each tree: from, to
    for (const WeightedTree& tree : trees) {
        weights.push_back(tree.weight / total);
        const auto first = static_cast<std::uint32_t>(folds.size());
        for (WeightedTree& rooted : with_any_root(tree)) {
            folds.push_back(folds_of(rooted));
            result.trees.push_back(std::move(rooted));
        }
        rootings.emplace_back(first, static_cast<std::uint32_t>(folds.size()));
    }
    const auto deal = [&](const std::vector<std::uint32_t>& parts) {
        OwnLanes own(problem.ranks, problem.leaves_push);
        std::vector<std::uint32_t> dealt;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            for (std::uint32_t part = 0; part < parts[i]; ++part) {
                std::uint32_t best = rootings[i].first;
                for (std::uint32_t tree = best; tree < rootings[i].second; ++tree) {
                    if (own.used(folds[tree].root) > own.used(folds[best].root)) best = tree;
                }
                own.take(folds[best]);
                dealt.push_back(best);
            }
        }
        if (own.most() > problem.lanes) dealt.clear();
        return dealt;
    };
    std::size_t fitting = 0;
    for (std::size_t too_many = std::size_t{problem.lanes} * problem.ranks;
         fitting + 1 < too_many;) {
        const std::size_t units = std::midpoint(fitting, too_many);
        if (auto dealt = deal(apportion(weights, units)); !dealt.empty()) {
            result.tree_of_unit = std::move(dealt);
            fitting = units;
        } else {
            too_many = units;
        }
    }
    return result;
}

}  // namespace rondo
