// The best packing of shallow trees by column generation, in exact arithmetic at the end.
#include "topology/forest/tree_program.hpp"

#include <algorithm>
#include <limits>

#include "topology/forest/exact_solve.hpp"

namespace rondo::forest {
namespace {

/// A tree is worth adding when it costs less than 1 by more than rounding.
constexpr double tolerance = 1e-9;

/// A round that adds less than this part to the value is idle.
constexpr double progress = 1e-4;

/// Edges with less than this part of the total are not used: they would drown in rounding.
constexpr double negligible = 1e-10;
constexpr double unusable_price = std::numeric_limits<double>::infinity();

/// Slots first, then roots.
std::vector<Units> resources_of(const Packing& packing) {
    std::vector<Units> resources = packing.capacity;
    resources.insert(resources.end(), packing.roots.begin(), packing.roots.end());
    return resources;
}

/// In units of the total. No tree needs more of one resource than twice the number of terminals.
std::vector<double> program_capacities(const Packing& packing, double scale) {
    std::vector<double> capacities;
    for (const Units resource : resources_of(packing)) {
        const double share = static_cast<double>(resource) / scale;
        capacities.push_back(std::min(share, 2.0 * packing.network->terminals));
    }
    return capacities;
}

/// The equations between the trees that have a weight and the resources that are used up.
struct Equations {
    IntegerMatrix matrix;
    std::vector<Units> right;
};

Equations equations(const Master::Basis& basis, const std::vector<std::vector<Load>>& loads,
                    const std::vector<Units>& resources) {
    const int size = static_cast<int>(basis.trees.size());
    std::vector<int> row_of(resources.size(), -1);
    Equations result{{size, std::vector<int>(size * size, 0)}, {}};
    for (int row = 0; row < size; ++row) {
        row_of[basis.resources[row]] = row;
        result.right.push_back(resources[basis.resources[row]]);
    }
    for (int column = 0; column < size; ++column) {
        for (const Load& load : loads[basis.trees[column]]) {
            const int row = row_of[load.resource];
            if (row >= 0) result.matrix.at(row, column) = load.count;
        }
    }
    return result;
}

/// Whether the weights respect every resource, those included that rounding made look unimportant.
bool respects(const std::vector<Rational>& weights, const std::vector<int>& trees,
              const std::vector<std::vector<Load>>& loads, const std::vector<Units>& resources) {
    std::vector<Rational> used(resources.size(), 0);
    for (std::size_t i = 0; i < weights.size(); ++i) {
        if (weights[i] == 0) continue;
        for (const Load& load : loads[trees[i]]) used[load.resource] += weights[i] * load.count;
    }
    for (std::size_t resource = 0; resource < used.size(); ++resource) {
        if (used[resource] > to_rational(resources[resource])) return false;
    }
    return true;
}

bool any_negative(const std::vector<Rational>& values) {
    return std::ranges::any_of(values, [](const Rational& value) { return value < 0; });
}

}  // namespace

TreeProgram::TreeProgram(const Packing& packing)
    : packing_(packing),
      scale_(static_cast<double>(packing.total)),
      pricer_(*packing.network),
      master_(program_capacities(packing, scale_)),
      random_(1) {
    for (const Units capacity : packing.capacity) {
        usable_.push_back(static_cast<double>(capacity) >= negligible * scale_);
    }
}

std::vector<Load> TreeProgram::loads_of(const PackedTree& tree) const {
    const std::vector<int> counts = packing_.loads(tree);
    std::vector<Load> loads;
    for (std::size_t slot = 0; slot < counts.size(); ++slot) {
        if (counts[slot] > 0) loads.push_back({static_cast<int>(slot), counts[slot]});
    }
    if (packing_.rooted) loads.push_back({static_cast<int>(counts.size()) + tree.root, 1});
    return loads;
}

/// For each edge forward and backward; before the first round, what little capacity makes dear.
std::vector<double> TreeProgram::edge_prices() const {
    std::vector<double> prices;
    for (std::size_t edge = 0; edge < packing_.network->edges.size(); ++edge) {
        for (const bool forward : {true, false}) {
            const int slot = packing_.slot({static_cast<int>(edge), forward});
            if (!usable_[slot]) {
                prices.push_back(unusable_price);
            } else if (prices_.empty()) {
                prices.push_back(scale_ / static_cast<double>(packing_.capacity[slot]));
            } else {
                prices.push_back(prices_[slot]);
            }
        }
    }
    return prices;
}

bool TreeProgram::add_tree(PackedTree tree) {
    std::vector<Load> loads = loads_of(tree);
    if (!prices_.empty()) {
        double cost = 0;
        for (const Load& load : loads) cost += load.count * prices_[load.resource];
        if (cost > 1 - tolerance) return false;
    }
    if (!seen_.insert(loads).second) return false;
    master_.add_tree(loads);
    trees_.push_back(std::move(tree));
    loads_.push_back(std::move(loads));
    return true;
}

/// At least as many searches as there are terminals, each for a root and with a part of noise:
/// enough different trees per round.
std::vector<TreeProgram::Search> TreeProgram::searches(bool unlimited) const {
    const int terminals = packing_.network->terminals;
    std::vector<int> roots;
    for (int root = 0; root < terminals; ++root) {
        if (!packing_.rooted || packing_.roots[root] > 0) roots.push_back(root);
    }
    // The cheapest tree of any depth is the same for every root: all but one search nearby.
    const bool same_for_all = unlimited && !packing_.rooted;
    const int variants = (terminals - 1) / static_cast<int>(roots.size()) + 1;
    std::vector<Search> result;
    for (const int root : roots) {
        for (int variant = 0; variant < variants; ++variant) {
            const int place = same_for_all ? root : variant;
            result.push_back({root, 0.5 * place / terminals});
        }
    }
    return result;
}

bool TreeProgram::add_trees(const Options& options) {
    pricer_.set_prices(edge_prices());
    const bool promising = !prices_.empty() && master_.value() >= options.promising;
    const int attempts = promising ? options.attempts : 1;
    bool added = false;
    for (int attempt = 0; attempt < attempts && !added; ++attempt) {
        for (const auto [root, noise] :
             searches(options.depth >= packing_.network->terminals - 1)) {
            const auto tree = pricer_.cheapest(root, options.depth, noise + 0.2 * attempt, random_);
            if (tree && add_tree(pricer_.with_paths(*tree))) added = true;
        }
    }
    return added;
}

void TreeProgram::run(const Options& options) {
    double reached = 0;
    for (int idle = 0; idle < options.patience && rounds_ < options.rounds; ++idle, ++rounds_) {
        if (!add_trees(options)) return;
        master_.solve();
        prices_ = master_.prices();
        if (options.until_total && master_.value() >= 1 - tolerance) return;
        if (master_.value() < reached * (1 + progress)) continue;
        reached = master_.value();
        idle = 0;
    }
}

std::optional<std::vector<Weighted<Rational>>> TreeProgram::exact_trees() const {
    if (prices_.empty()) return std::nullopt;
    const Master::Basis basis = master_.basis();
    const std::vector<Units> resources = resources_of(packing_);
    const auto [matrix, right] = equations(basis, loads_, resources);
    const auto weights = solve_exactly(matrix, right);
    if (!weights || any_negative(*weights)) return std::nullopt;
    if (!respects(*weights, basis.trees, loads_, resources)) return std::nullopt;
    std::vector<Weighted<Rational>> trees;
    for (std::size_t i = 0; i < weights->size(); ++i) {
        if ((*weights)[i] > 0) trees.push_back({trees_[basis.trees[i]], (*weights)[i]});
    }
    return trees;
}

std::optional<std::vector<Rational>> TreeProgram::exact_prices() const {
    if (prices_.empty()) return std::nullopt;
    const Master::Basis basis = master_.basis();
    const Equations system = equations(basis, loads_, resources_of(packing_));
    const std::vector<Units> ones(basis.trees.size(), 1);
    const auto solution = solve_exactly(system.matrix.transposed(), ones);
    if (!solution || any_negative(*solution)) return std::nullopt;
    std::vector<Rational> prices;
    for (const bool usable : usable_) prices.push_back(usable ? 0 : 1);
    for (std::size_t i = 0; i < solution->size(); ++i) {
        const std::size_t resource = basis.resources[i];
        if (resource < prices.size()) prices[resource] = (*solution)[i];
    }
    return prices;
}

}  // namespace rondo::forest
