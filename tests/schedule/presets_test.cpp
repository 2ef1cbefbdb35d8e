// Every strategy and collective on every machine that ships, from every root: built and proved.
#include <gtest/gtest.h>

#include "tests/schedule/problems.hpp"
#include "topology/graph/topology.hpp"

namespace rondo::test {
namespace {

/// All of a small machine, few of a large one, whose ranks are much alike.
std::vector<std::uint32_t> roots_on(std::uint32_t ranks) {
    if (ranks > 16) return {0, ranks / 2 + 1};
    std::vector<std::uint32_t> roots(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) roots[rank] = rank;
    return roots;
}

void prove(const BuildInput& input) {
    const std::optional<Schedule> schedule = try_build(input);
    if (!schedule) return;
    EXPECT_EQ(verify(*schedule).problem, "")
        << to_string(input.strategy) << " " << to_string(input.collective) << " root " << input.root
        << " variant " << input.variant;
    for (const Lane& lane : schedule->lanes) {
        for (const Step& step : lane.steps) {
            for (const auto* operands : {&step.sources, &step.destinations}) {
                for (const Operand& operand : *operands) {
                    if (operand.kind == Operand::Kind::channel) continue;
                    ASSERT_TRUE(input.machine.reaches(lane.rank, operand.index))
                        << to_string(input.strategy) << " " << to_string(input.collective);
                }
            }
        }
    }
}

class Presets : public testing::TestWithParam<std::string> {};

TEST_P(Presets, EveryStrategyAndCollectiveIsProvedFromEveryRoot) {
    const Topology topology = load_topology(GetParam());
    const MachineView machine(topology, {});
    const std::uint32_t ranks = machine.ranks();
    for (const Collective collective : all_collectives) {
        for (const Strategy& strategy : sample_strategies()) {
            for (const std::uint32_t root : roots_on(ranks)) {
                if (root != 0 && !has_root(collective)) continue;
                BuildInput input{.machine = machine,
                                 .collective = collective,
                                 .root = root,
                                 .strategy = strategy,
                                 .depth = 4};
                for (const std::uint32_t variant : variants_of(input)) {
                    input.variant = variant;
                    prove(input);
                }
                if (collective != Collective::reduce) continue;
                input.destinations = {root};
                prove(input);
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, Presets, testing::ValuesIn(preset_names()),
                         [](const auto& preset) { return preset.param; });

}  // namespace
}  // namespace rondo::test
