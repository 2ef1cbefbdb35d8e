// Shares are max-min fair, whatever came before and whatever was left out as never full.
#include <gtest/gtest.h>

#include <random>

#include "tests/topology/simulate/support.hpp"
#include "topology/simulate/sharing.hpp"

namespace rondo::test {
namespace {

using simulation::Demand;
using simulation::FairSharing;

struct Scene {
    std::vector<double> capacities = {};
    std::vector<Demand> demands = {};
    std::vector<int> running = {};  ///< transfers of each kind
};

Scene random_scene(std::mt19937& random) {
    const auto below = [&](int limit) { return static_cast<int>(random() % limit); };
    Scene scene;
    for (int i = 0; i < 12; ++i) scene.capacities.push_back(1 + below(20) + (i % 4 == 0 ? 500 : 0));
    for (int kind = 0; kind < 15; ++kind) {
        Demand demand{.ceiling = 1.0 + below(9), .most_at_once = 4};
        for (std::uint32_t resource = 0; resource < 12; ++resource) {
            if (below(5) == 0) demand.uses.emplace_back(resource, (1 + below(4)) / 2.0);
        }
        scene.demands.push_back(demand);
    }
    scene.running.resize(scene.demands.size());
    return scene;
}

/// Nothing is overfull, and who does not run at the ceiling has a full resource that nobody uses
/// faster.
void expect_fair(const Scene& scene, const FairSharing& sharing) {
    std::vector<double> used(scene.capacities.size());
    std::vector<double> fastest(scene.capacities.size());
    for (std::uint32_t kind = 0; kind < scene.demands.size(); ++kind) {
        if (scene.running[kind] == 0) continue;
        for (const auto& [resource, amount] : scene.demands[kind].uses) {
            used[resource] += scene.running[kind] * amount * sharing.rate(kind);
            fastest[resource] = std::max(fastest[resource], sharing.rate(kind));
        }
    }
    for (std::size_t i = 0; i < used.size(); ++i) {
        ASSERT_LE(used[i], scene.capacities[i] * (1 + 1e-9));
    }
    for (std::uint32_t kind = 0; kind < scene.demands.size(); ++kind) {
        if (scene.running[kind] == 0) continue;
        const double rate = sharing.rate(kind);
        bool limited = rate >= scene.demands[kind].ceiling * (1 - 1e-9);
        for (const auto& [resource, amount] : scene.demands[kind].uses) {
            limited |= used[resource] >= scene.capacities[resource] * (1 - 1e-9) &&
                       rate >= fastest[resource] * (1 - 1e-9);
        }
        ASSERT_TRUE(limited) << "kind " << kind << " at " << rate;
    }
}

TEST(FairSharing, IsMaxMinFairAfterEveryChange) {
    std::mt19937 random(7);
    for (int round = 0; round < 50; ++round) {
        Scene scene = random_scene(random);
        FairSharing sharing(scene.capacities, scene.demands);
        for (int change = 0; change < 60; ++change) {
            const auto kind = static_cast<std::uint32_t>(random() % scene.demands.size());
            if (scene.running[kind] < 4 && random() % 2 == 0) {
                sharing.begin(kind);
                ++scene.running[kind];
            } else if (scene.running[kind] > 0) {
                sharing.end(kind);
                --scene.running[kind];
            }
            if (random() % 3 == 0) continue;  // several changes at once
            sharing.share();
            expect_fair(scene, sharing);
        }
    }
}

TEST(Simulator, GivesUpOnWhatIsTooSlowAndOnNothingElse) {
    const Topology topology = load_topology("dgx1_v100");
    const Routing routing(topology, {});
    const Schedule tree = make(Strategy::tree(2), 8, 4);
    const Simulator simulator(tree, routing);
    for (const std::uint64_t bytes : {1 << 20, 1 << 28}) {
        const double whole = simulator.run({.bytes = bytes}).seconds;
        const auto within = [&](double seconds) {
            return simulator.run({.bytes = bytes, .most_seconds = seconds});
        };
        EXPECT_EQ(within(whole).seconds, whole);
        EXPECT_FALSE(within(whole * 1.0001).gave_up);
        EXPECT_TRUE(within(whole / 2).gave_up);
        EXPECT_GE(within(whole / 2).seconds, whole / 2);
        EXPECT_LE(within(whole / 2).seconds, whole);
    }
}

}  // namespace
}  // namespace rondo::test
