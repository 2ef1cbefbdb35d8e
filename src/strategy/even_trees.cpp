// Local search on the sum of high powers of the links' loads, which is led by the busiest ones. A
// tree is grown from its root like Prim's, always by the edge that raises that sum least; loads
// count while it grows, so that a busy root hands over to its first children.
#include "strategy/even_trees.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <random>

#include "strategy/weighted_trees.hpp"

namespace rondo {
namespace {

/// Of a link's load in the sum; large: only the busiest count.
constexpr int power = 16;
constexpr int most_rounds = 12;
/// Edges that are looked at while trees are grown.
constexpr double most_work = 3e5;
/// The search ends where so little is missing.
constexpr double nearly = 1.005;
/// A unit more per part must make the links so much better used.
constexpr double worth_more_units = 0.005;
/// In all parts, and in the one of a message without parts.
constexpr std::size_t most_units = 72;
constexpr std::uint32_t most_units_of_one = 40;
constexpr std::size_t most_sets = 6;
/// Of a packing that is even already, before fewer are looked for.
constexpr std::uint32_t most_units_to_keep = 24;
/// What a hop more costs a unit, as a part of what its edge costs: less than any load that counts.
constexpr double hop_cost = 0.03;

double raised(double base) {
    double result = base;
    for (int i = 1; i < power; i *= 2) result *= result;
    return result;
}

/// `units` units for trees of these weights, so that the largest excess is as small as can be.
std::vector<std::uint32_t> apportion(const std::vector<WeightedTree>& trees, std::uint32_t units) {
    std::vector<std::uint32_t> counts(trees.size());
    for (std::uint32_t unit = 0; unit < units; ++unit) {
        std::size_t best = 0;
        for (std::size_t i = 1; i < trees.size(); ++i) {
            if ((counts[i] + 1) * trees[best].weight < (counts[best] + 1) * trees[i].weight) {
                best = i;
            }
        }
        ++counts[best];
    }
    return counts;
}

/// A part of the message: its trees, as the packing has them, and how many units it is cut into.
struct TreePart {
    std::vector<WeightedTree> trees = {};
    std::uint32_t units = 1;
};

/// What a byte takes of a link: the part of a second.
struct LinkTime {
    std::uint32_t link = 0;
    double seconds = 0;
};

class Balancer {
public:
    Balancer(const Routing& routing, bool up, bool down)
        : ranks_(routing.ranks()),
          edges_(std::size_t{ranks_} * ranks_),
          loads_(routing.topology().links().size()) {
        for (std::uint32_t parent = 0; parent < ranks_; ++parent) {
            for (std::uint32_t child = 0; child < ranks_; ++child) {
                if (parent == child) continue;
                if (down) add_path(routing, parent, child, edge(parent, child));
                if (up) add_path(routing, child, parent, edge(parent, child));
            }
        }
    }

    void use(const WeightedTree& tree, double sign) {
        for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
            if (tree.parents[rank] != rank) use(tree.parents[rank], rank, sign);
        }
    }

    double busiest() const { return std::ranges::max(loads_); }

    /// The sum of which the search takes the least.
    double cost(double scale) const {
        double sum = 0;
        for (const double load : loads_) sum += raised(load / scale);
        return sum;
    }

    /// A new tree from this root; its load is not there yet. Without weight: nothing joins all.
    WeightedTree grow(std::uint32_t root, double scale) {
        WeightedTree tree{std::vector<std::uint32_t>(ranks_, nobody), 1};
        std::vector<std::uint32_t> depths(ranks_);
        tree.parents[root] = root;
        for (std::uint32_t count = 1; count < ranks_; ++count) {
            double least = 1e300;
            std::uint32_t from = nobody;
            std::uint32_t to = nobody;
            for (std::uint32_t parent = 0; parent < ranks_; ++parent) {
                if (tree.parents[parent] == nobody) continue;
                for (std::uint32_t child = 0; child < ranks_; ++child) {
                    if (tree.parents[child] != nobody || edge(parent, child).empty()) continue;
                    const double price =
                        rise(parent, child, scale) * (1 + hop_cost * depths[parent]);
                    if (price >= least) continue;
                    least = price;
                    from = parent;
                    to = child;
                }
            }
            if (from == nobody) {
                tree.weight = 0;
                break;
            }
            tree.parents[to] = from;
            depths[to] = depths[from] + 1;
            use(from, to, 1);
        }
        for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
            if (tree.parents[rank] != rank && tree.parents[rank] != nobody) {
                use(tree.parents[rank], rank, -1);
            }
        }
        return tree;
    }

private:
    static constexpr std::uint32_t nobody = UINT32_MAX;

    std::vector<LinkTime>& edge(std::uint32_t parent, std::uint32_t child) {
        return edges_[std::size_t{parent} * ranks_ + child];
    }

    static void add_path(const Routing& routing, std::uint32_t from, std::uint32_t to,
                         std::vector<LinkTime>& times) {
        const Path* const path = routing.path(from, to);
        if (path == nullptr) return;
        const auto& links = routing.topology().links();
        for (const Route& route : path->routes) {
            for (const int link : route.links) {
                const auto index = static_cast<std::uint32_t>(link);
                times.push_back({index, route.share / static_cast<double>(links[index].bandwidth(
                                                          routing.model()))});
            }
        }
    }

    void use(std::uint32_t parent, std::uint32_t child, double sign) {
        for (const LinkTime& time : edge(parent, child)) loads_[time.link] += sign * time.seconds;
    }

    double rise(std::uint32_t parent, std::uint32_t child, double scale) {
        double sum = 0;
        for (const LinkTime& time : edge(parent, child)) {
            const double load = loads_[time.link] / scale;
            sum += raised(load + time.seconds / scale) - raised(load);
        }
        return sum;
    }

    std::uint32_t ranks_;
    std::vector<std::vector<LinkTime>> edges_;  ///< by parent and child
    std::vector<double> loads_;                 ///< of each link, by a byte of every unit
};

/// All units' trees, and the search for better ones.
class TreeSearch {
public:
    TreeSearch(const std::vector<TreePart>& parts, const Routing& routing, bool up, bool down)
        : balancer_(routing, up, down) {
        for (const TreePart& part : parts) {
            const std::vector<std::uint32_t> counts = apportion(part.trees, part.units);
            for (std::size_t i = 0; i < counts.size(); ++i) {
                trees_.insert(trees_.end(), counts[i], part.trees[i]);
            }
        }
        for (const WeightedTree& tree : trees_) balancer_.use(tree, 1);
    }

    double busiest() const { return balancer_.busiest(); }
    std::size_t size() const { return trees_.size(); }
    std::vector<WeightedTree> take() { return std::move(trees_); }

    /// Grows trees anew as long as something gets better, and links are busier than `enough`.
    void improve(double enough) {
        for (int round = 0; round < most_rounds && busiest() > enough; ++round) {
            bool better = false;
            for (WeightedTree& tree : trees_) better |= replace(tree);
            if (!better) return;
        }
    }

    /// Grows some trees anew, whether that is better or not.
    void shake(std::mt19937& random) {
        std::vector<std::size_t> chosen;
        for (std::size_t i = 0; i < trees_.size(); ++i) {
            if (random() % shaken_part != 0) continue;
            balancer_.use(trees_[i], -1);
            chosen.push_back(i);
        }
        std::ranges::shuffle(chosen, random);
        for (const std::size_t i : chosen) {
            WeightedTree grown = balancer_.grow(root_of(trees_[i]), busiest());
            if (grown.weight != 0) trees_[i] = std::move(grown);
            balancer_.use(trees_[i], 1);
        }
    }

private:
    bool replace(WeightedTree& tree) {
        const double scale = busiest();
        const double before = balancer_.cost(scale);
        balancer_.use(tree, -1);
        WeightedTree grown = balancer_.grow(root_of(tree), scale);
        if (grown.weight != 0) {
            balancer_.use(grown, 1);
            if (balancer_.cost(scale) < before * (1 - 1e-6)) {
                tree = std::move(grown);
                return true;
            }
            balancer_.use(grown, -1);
        }
        balancer_.use(tree, 1);
        return false;
    }

    /// One in so many.
    static constexpr unsigned shaken_part = 4;

    Balancer balancer_;
    std::vector<WeightedTree> trees_;
};

EvenTrees search_trees(const std::vector<TreePart>& parts, const TreePacking& packing, bool up,
                       bool down) {
    TreeSearch best(parts, *packing.routing, up, down);
    const double least = static_cast<double>(best.size()) / packing.throughput;
    const double enough = least * nearly;
    const double growth = std::pow(packing.routing->ranks(), 3) * static_cast<double>(best.size());
    // Packed from one root, the last trees took what ways were left.
    best.improve(parts.size() == 1 && growth < most_work ? 0 : enough);
    std::mt19937 random(1);
    for (double work = most_work; work > 0 && best.busiest() > enough; work -= 3 * growth) {
        TreeSearch other = best;
        other.shake(random);
        other.improve(enough);
        if (other.busiest() < best.busiest() * (1 - 1e-9)) best = std::move(other);
    }
    EvenTrees result{.parts = {}, .share = least / best.busiest()};
    std::vector<WeightedTree> trees = best.take();
    auto next = std::make_move_iterator(trees.begin());
    for (const TreePart& part : parts) {
        result.parts.emplace_back(next, next + part.units);
        next += part.units;
    }
    return result;
}

std::vector<TreePart> parts_of(const TreePacking& packing, Collective collective) {
    if (!has_owners(collective)) return {{packing.trees}};
    std::vector<TreePart> parts(packing.trees.front().parents.size());
    for (const WeightedTree& tree : packing.trees) parts[root_of(tree)].trees.push_back(tree);
    return parts;
}

/// Units of every part that are no heavier than the lightest tree; 0: some tree is not a whole
/// number of them, or parts differ, or they are too many.
std::uint32_t even_units(const std::vector<TreePart>& parts) {
    double least = 1e300;
    for (const TreePart& part : parts) {
        for (const WeightedTree& tree : part.trees) least = std::min(least, tree.weight);
    }
    std::vector<double> units;
    for (const TreePart& part : parts) {
        double sum = 0;
        for (const WeightedTree& tree : part.trees) {
            const double whole = std::round(tree.weight / least);
            if (std::abs(tree.weight / least - whole) > 1e-3) return 0;
            sum += whole;
        }
        units.push_back(sum);
    }
    const auto [fewest, most] = std::ranges::minmax(units);
    const bool few = most * static_cast<double>(parts.size()) <= most_units;
    return few && fewest == most ? static_cast<std::uint32_t>(most) : 0;
}

}  // namespace

std::vector<EvenTrees> find_even_trees(const TreePacking& packing, Collective collective) {
    std::vector<TreePart> parts = parts_of(packing, collective);
    if (packing.routing == nullptr || packing.throughput == 0) {
        EvenTrees all;
        for (TreePart& part : parts) all.parts.push_back(std::move(part.trees));
        return {std::move(all)};
    }
    const bool up = reduces(collective);
    const bool down = collective != Collective::reduce_scatter && collective != Collective::reduce;
    const std::uint32_t units = even_units(parts);
    const bool searches = parts.size() == 1 && units > most_units_to_keep &&
                          std::pow(packing.routing->ranks(), 3) < most_work;
    if (units != 0 && !searches) {
        for (TreePart& part : parts) part.units = units;
        return {search_trees(parts, packing, up, down)};
    }
    std::vector<EvenTrees> sets;
    for (std::uint32_t count = 1; count * parts.size() <= most_units; ++count) {
        for (TreePart& part : parts) part.units = count;
        EvenTrees found = search_trees(parts, packing, up, down);
        if (!sets.empty() && found.share < sets.back().share + worth_more_units) continue;
        sets.push_back(std::move(found));
        if (sets.back().share * nearly >= 1) break;
        if (parts.size() == 1 && count >= most_units_of_one) break;
    }
    const std::size_t kept = std::min<std::size_t>(sets.size(), most_sets);
    return {std::make_move_iterator(sets.end() - static_cast<std::ptrdiff_t>(kept)),
            std::make_move_iterator(sets.end())};
}

EvenTrees heaviest_trees(const TreePacking& packing, Collective collective) {
    EvenTrees result;
    for (const TreePart& part : parts_of(packing, collective)) {
        const auto heaviest = std::ranges::max_element(part.trees, {}, &WeightedTree::weight);
        auto& trees = result.parts.emplace_back();
        if (heaviest != part.trees.end()) trees.push_back(*heaviest);
    }
    return result;
}

}  // namespace rondo
