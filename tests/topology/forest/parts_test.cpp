// The building blocks of forest synthesis, each against a slow but obvious answer.
#include <gtest/gtest.h>

#include "tests/topology/forest/support.hpp"
#include "topology/forest/arborescences.hpp"
#include "topology/forest/centre.hpp"
#include "topology/forest/exact_solve.hpp"
#include "topology/forest/fixed_roots.hpp"
#include "topology/forest/max_flow.hpp"
#include "topology/forest/orientation.hpp"
#include "topology/forest/peel.hpp"
#include "topology/forest/proof.hpp"
#include "topology/forest/reduction.hpp"
#include "topology/forest/strength.hpp"

namespace rondo::forest {
namespace {

using testing::Dice;
using testing::random_network;

TEST(MaxFlow, FindsFlowAndCut) {
    MaxFlow flow(4);
    flow.add_arc(0, 1, 3);
    flow.add_arc(0, 2, 2);
    flow.add_arc(1, 2, 5, 5);
    flow.add_arc(1, 3, 2);
    const int last = flow.add_arc(2, 3, 2);
    EXPECT_EQ(flow.run(0, 3, 100), 4);
    EXPECT_TRUE(flow.on_source_side(2));
    EXPECT_FALSE(flow.on_source_side(3));
    EXPECT_EQ(flow.flow_on(last), 2);
    EXPECT_EQ(flow.run(0, 3, 3), 3) << "stops when there is enough";
    flow.set(last, 10);
    EXPECT_EQ(flow.run(0, 3, 100), 5);
    EXPECT_EQ(flow.far_source_side(3), (std::vector<bool>{true, false, false, false}));
}

TEST(FixedRoots, FindTheTightestSet) {
    for (unsigned seed = 1; seed <= 100; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Dice dice(seed);
        const Network network = random_network(dice, dice.between(2, 7), dice.between(0, 4));
        std::vector<Units> shares(network.terminals, 1);
        for (Units& share : shares) share += dice.between(0, 3);
        EXPECT_EQ(best_fixed_roots(network, shares).scale.value(),
                  testing::scale_by_brute_force(network, shares));
    }
}

TEST(Strength, EqualsTheHardestPartition) {
    for (unsigned seed = 1; seed <= 200; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Dice dice(seed);
        const Network network = random_network(dice, dice.between(2, 8), 0);
        EXPECT_EQ(strength(network).trees.value(), testing::strength_by_brute_force(network));
    }
}

TEST(ExactSolve, SolvesWhatFloatingPointCannot) {
    const IntegerMatrix matrix{3, {1, 2, 0, 3, 0, 1, 0, 1, 7}};
    const Units large = Units{1} << 90;
    const auto solution = solve_exactly(matrix, {large, 1, 2});
    ASSERT_TRUE(solution);
    const auto& x = *solution;
    EXPECT_EQ(x[0] + 2 * x[1], to_rational(large));
    EXPECT_EQ(3 * x[0] + x[2], 1);
    EXPECT_EQ(x[1] + 7 * x[2], 2);
    EXPECT_EQ(solve_exactly({2, {1, 2, 2, 4}}, {1, 1}), std::nullopt);
    EXPECT_EQ(matrix.transposed().at(0, 1), 3);
}

TEST(ExactSolve, RandomSystems) {
    for (unsigned seed = 1; seed <= 50; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Dice dice(seed);
        const int size = dice.between(1, 20);
        IntegerMatrix matrix{size, {}};
        for (int i = 0; i < size * size; ++i) matrix.entries.push_back(dice.between(0, 3));
        std::vector<Units> right(size);
        for (Units& value : right) value = dice.bandwidth(1);
        const auto solution = solve_exactly(matrix, right);
        if (!solution) continue;
        for (int row = 0; row < size; ++row) {
            Rational sum = 0;
            for (int i = 0; i < size; ++i) sum += matrix.at(row, i) * (*solution)[i];
            EXPECT_EQ(sum, to_rational(right[row]));
        }
    }
}

/// Prices that prove a bound for the reduced network prove the same one for the original.
TEST(Reduction, KeepsThroughputCutsAndPrices) {
    for (unsigned seed = 1; seed <= 150; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Dice dice(seed);
        const Network network = random_network(dice, dice.between(2, 6), dice.between(0, 5));
        const Reduction reduction(network);
        const Network& reduced = reduction.network();
        const std::vector<Units> shares(network.terminals, 1);
        const FixedRoots best = best_fixed_roots(reduced, shares);
        const Demand demand{.gpus = {}, .shares = shares, .whole = network.terminals};
        EXPECT_EQ(best.scale.value(), best_fixed_roots(network, shares).scale.value());
        EXPECT_EQ(bound_by_cut(network, demand, reduction.lift_set(best.sink_side)),
                  best.scale.value() * network.terminals);
        std::vector<Rational> prices(reduced.edges.size());
        for (Rational& price : prices) price = dice.between(1, 5);
        EXPECT_EQ(bound_by_prices(network, reduction.lift_prices(prices)),
                  bound_by_prices(reduced, prices));
    }
}

/// Traffic that fills the reduced network, expanded, overloads nothing and ends where it should.
TEST(Reduction, ExpandsPathsWithinTheCapacities) {
    // Two planes, each of two switches with a wide trunk; behind the second plane a relay in a row.
    Network network{4, 10, {}};
    for (const int terminal : {0, 1}) {
        network.edges.push_back({terminal, 4, 10});
        network.edges.push_back({6, terminal, 30});
    }
    for (const int terminal : {2, 3}) {
        network.edges.push_back({5, terminal, 10});
        network.edges.push_back({terminal, 7, 30});
    }
    network.edges.push_back({5, 4, 20});
    network.edges.push_back({6, 8, 60});
    network.edges.push_back({7, 8, 90});
    network.edges.push_back({9, 8, 5});
    const Reduction reduction(network);
    ASSERT_EQ(reduction.network().vertices, 5);
    ASSERT_EQ(reduction.network().edges.size(), 4u);
    std::vector<Rational> load(network.edges.size(), 0);
    for (int from = 0; from < 4; ++from) {
        const int to = (from + 2) % 4;
        Path path;
        for (const int terminal : {from, to}) {
            for (int edge = 0; edge < 4; ++edge) {
                const Edge& candidate = reduction.network().edges[edge];
                if (candidate.a != terminal && candidate.b != terminal) continue;
                path.push_back({edge, (candidate.a == terminal) == (terminal == from)});
            }
        }
        Rational whole = 0;
        for (const PathShare& way : reduction.expand(path)) {
            whole += way.share;
            int at = from;
            for (const Step step : way.path) {
                EXPECT_EQ(network.tail(step), at);
                at = network.head(step);
                if (step.forward) load[step.edge] += 40 * way.share;
            }
            EXPECT_EQ(at, to);
        }
        EXPECT_EQ(whole, 1);
    }
    for (std::size_t edge = 0; edge < load.size(); ++edge) {
        EXPECT_LE(load[edge], to_rational(network.edges[edge].capacity)) << "edge " << edge;
    }
}

/// Adds the trees to the loads and checks that they span and that no capacity or root weight is
/// exceeded.
void expect_packs(const Packing& packing, const std::vector<Weighted<Units>>& trees, Units total) {
    Packing rest = packing;
    for (const auto& [tree, weight] : trees) {
        ASSERT_GT(weight, 0);
        std::vector<bool> reached(packing.network->terminals, false);
        reached[tree.root] = true;
        for (const PackedEdge& edge : tree.edges) {
            ASSERT_TRUE(reached[edge.parent]);
            ASSERT_FALSE(reached[edge.child]);
            reached[edge.child] = true;
            int at = edge.parent;
            for (const Step step : edge.path) {
                ASSERT_EQ(packing.network->tail(step), at);
                at = packing.network->head(step);
                ASSERT_TRUE(at == edge.child || at >= packing.network->terminals);
            }
            ASSERT_EQ(at, edge.child);
        }
        EXPECT_EQ(tree.edges.size() + 1, reached.size());
        rest.take(tree, weight);
    }
    EXPECT_EQ(packing.total - rest.total, total);
    for (const Units capacity : rest.capacity) EXPECT_GE(capacity, 0);
    for (const Units root : rest.roots) EXPECT_GE(root, 0);
}

Packing random_packing(Dice& dice, const Network& network) {
    std::vector<Units> shares(network.terminals, 0);
    shares[dice.between(0, network.terminals - 1)] = 1;
    for (Units& share : shares) share += dice.between(0, 2);
    const Ratio scale = best_fixed_roots(network, shares).scale;
    Packing packing{.network = &network};
    for (const Edge& edge : network.edges) {
        packing.capacity.insert(packing.capacity.end(), 2, edge.capacity * scale.denominator);
    }
    for (const Units share : shares) {
        packing.roots.push_back(share * scale.numerator);
        packing.total += packing.roots.back();
    }
    return packing;
}

TEST(Arborescences, PackWhateverFits) {
    for (unsigned seed = 1; seed <= 120; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Dice dice(seed);
        const Network network = random_network(dice, dice.between(2, 7), dice.between(0, 4));
        const Packing packing = random_packing(dice, network);
        expect_packs(packing, pack_exactly(packing), packing.total);
    }
}

TEST(Peel, TakesTreesAndLeavesAPackableRest) {
    for (unsigned seed = 1; seed <= 120; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Dice dice(seed);
        const Network network = random_network(dice, dice.between(2, 8), dice.between(0, 4));
        const Packing packing = random_packing(dice, network);
        Peeled peeled = peel(packing, seed);
        expect_packs(packing, peeled.trees, packing.total - peeled.rest.total);
        if (peeled.rest.total == 0) continue;
        expect_packs(peeled.rest, pack_exactly(peeled.rest), peeled.rest.total);
    }
}

TEST(Orientation, TurnsFreeRootsIntoOne) {
    for (unsigned seed = 1; seed <= 80; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Dice dice(seed);
        const Network network = random_network(dice, dice.between(2, 8), 0);
        const Ratio trees = strength(network).trees;
        Packing free{.network = &network, .rooted = false};
        for (const Edge& edge : network.edges) {
            free.capacity.push_back(edge.capacity * trees.denominator);
        }
        free.total = trees.numerator;
        const Packing rooted = orient(free);
        for (std::size_t edge = 0; edge < network.edges.size(); ++edge) {
            EXPECT_LE(rooted.capacity[2 * edge] + rooted.capacity[2 * edge + 1],
                      free.capacity[edge]);
        }
        expect_packs(rooted, pack_exactly(rooted), free.total);
    }
}

TEST(Centre, HalvesTheDepthOfAPath) {
    PackedTree path{.root = 0};
    for (int i = 0; i < 6; ++i)
        path.edges.push_back({i, i + 1, {{2 * i, true}, {2 * i + 1, true}}});
    EXPECT_EQ(depth_of(path, 7), 6);
    const PackedTree turned = rooted_at_centre(path, 7);
    EXPECT_EQ(turned.root, 3);
    EXPECT_EQ(depth_of(turned, 7), 3);
    const auto back = std::ranges::find(turned.edges, 0, &PackedEdge::child);
    EXPECT_EQ(back->parent, 1);
    EXPECT_EQ(back->path, (Path{{1, false}, {0, false}}));
}

}  // namespace
}  // namespace rondo::forest
