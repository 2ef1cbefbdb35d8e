// Every strategy, every variant, on machines where all memory is reachable, and where some is not.
#include <gtest/gtest.h>

#include "strategy/strategy_entry.hpp"

namespace rondo::test {
namespace {

const std::vector<Collective> collectives{Collective::all_reduce, Collective::reduce,
                                          Collective::broadcast,  Collective::reduce_scatter,
                                          Collective::all_gather, Collective::all_to_all,
                                          Collective::gather,     Collective::scatter};

/// Who touches whose input or output although it can't reach it.
std::string forbidden_touch(const Schedule& schedule, const MachineView& machine) {
    for (const Lane& lane : schedule.lanes) {
        for (const Step& step : lane.steps) {
            for (const auto* operands : {&step.sources, &step.destinations}) {
                for (const Operand& operand : *operands) {
                    if (operand.kind != Operand::Kind::channel &&
                        !machine.reaches(lane.rank, operand.index)) {
                        return "rank " + std::to_string(lane.rank) + " touches memory of rank " +
                               std::to_string(operand.index);
                    }
                }
            }
        }
    }
    return "";
}

struct Case {
    std::uint32_t ranks = 1;
    bool walls = false;  ///< between even and odd ranks, and around the last one
};

class Builders : public testing::TestWithParam<Case> {
protected:
    Builders() : machine_(GetParam().ranks) {
        for (std::uint32_t a = 0; a < GetParam().ranks && GetParam().walls; ++a) {
            for (std::uint32_t b = 0; b < GetParam().ranks; ++b) {
                if (a != b && (a + b) % 2 == 1) machine_.set_reach(a, b, false);
            }
        }
    }

    /// Proves all variants at small and large sizes; returns how many there were.
    int prove(const BuildInput& wanted) {
        int proved = 0;
        BuildInput input = wanted;
        const StrategyEntry& entry = entry_of(input.strategy);
        for (const std::uint64_t bytes : {std::uint64_t{1} << 10, std::uint64_t{1} << 28}) {
            const auto variants = entry.variants == nullptr ? std::vector<std::uint32_t>{0}
                                                            : entry.variants(input, bytes);
            for (const std::uint32_t variant : variants) {
                input.variant = variant;
                try {
                    const Schedule schedule = build(input);
                    EXPECT_EQ(verify(schedule).problem, "")
                        << schedule.name << " " << to_string(input.collective) << " variant "
                        << variant << " root " << input.root;
                    EXPECT_EQ(forbidden_touch(schedule, machine_), "")
                        << schedule.name << " " << to_string(input.collective) << " variant "
                        << variant;
                    ++proved;
                } catch (const Unsupported&) {
                }
            }
        }
        return proved;
    }

    MachineView machine_;
};

TEST_P(Builders, AllSchedulesAreProvedAndKeepToMemoryWithinReach) {
    std::vector<int> proved(collectives.size());
    for (const Strategy& strategy : sample_strategies()) {
        for (std::size_t i = 0; i < collectives.size(); ++i) {
            const std::uint32_t last = GetParam().ranks - 1;
            BuildInput input{.machine = machine_,
                             .collective = collectives[i],
                             .strategy = strategy,
                             .depth = 2};
            proved[i] += prove(input);
            if (!has_root(collectives[i])) continue;
            input.root = last;
            input.destinations = {last};
            proved[i] += prove(input);
            input.destinations = {last / 2, last};
            proved[i] += prove(input);
        }
    }
    for (std::size_t i = 0; i < 5; ++i) EXPECT_GT(proved[i], 0) << to_string(collectives[i]);
}

INSTANTIATE_TEST_SUITE_P(Ranks, Builders,
                         testing::Values(Case{1}, Case{2}, Case{3}, Case{4}, Case{5}, Case{8},
                                         Case{2, true}, Case{3, true}, Case{5, true},
                                         Case{8, true}),
                         [](const auto& parameter) {
                             return std::to_string(parameter.param.ranks) +
                                    (parameter.param.walls ? "WithWalls" : "");
                         });

TEST(HierarchicalCopy, CutsNoFinerThanTheElements) {
    const MachineView machine(4);
    BuildInput input{
        .machine = machine, .count = 10, .strategy = Strategy::hierarchical_copy(1'048'576)};
    const Schedule schedule = build(input);
    EXPECT_EQ(schedule.unit_shares.size(), 10u);
    input.strategy = Strategy::hierarchical_copy(10);
    Schedule same = build(input);
    same.name = schedule.name;
    EXPECT_EQ(schedule, same);
    input.count = 1'000'000;
    input.strategy = Strategy::hierarchical_copy(1'048'576);
    try {
        build(input);
        FAIL() << "a million packs";
    } catch (const Unsupported& error) {
        EXPECT_STREQ(error.what(),
                     "hierarchical_copy(1048576) would cut the message into 1000000 packs; 4096 is "
                     "the limit");
    }
}

TEST(ReductionToOneDevice, NamesADeviceThatTakesNoPart) {
    const MachineView machine(4);
    try {
        build({.machine = machine, .strategy = Strategy::reduction_to_one_device(9)});
        FAIL();
    } catch (const InvalidArgument& error) {
        EXPECT_STREQ(error.what(),
                     "reduction_to_one_device(9): device 9 is not in the communicator");
    }
}

}  // namespace
}  // namespace rondo::test
