// A tree per unit; who is its root follows from the collective.
#include "strategy/on_trees.hpp"

#include <algorithm>

namespace rondo {
namespace {

std::uint32_t root_of_unit(const BuildInput& input, const OnTrees& shape, const Schedule& schedule,
                           std::uint32_t unit) {
    if (has_owners(input.collective)) return schedule.unit_owners[unit];
    return input.collective == Collective::broadcast ? input.root : shape.centre(unit);
}

}  // namespace

Schedule build_on_trees(const BuildInput& input, const OnTrees& shape) {
    require_tree_collective(input);
    Schedule start = start_schedule(input);
    cut_evenly(start, shape.units);
    ScheduleBuilder builder(std::move(start), input.depth);
    const auto units = static_cast<std::uint32_t>(builder.schedule().unit_shares.size());
    TreeLanes lanes{.machine = &input.machine};
    if (input.variant == 1) lanes.down = lanes.up;
    for (std::uint32_t unit = 0; unit < units; ++unit) {
        const Tree tree = shape.tree(root_of_unit(input, shape, builder.schedule(), unit));
        const std::vector<bool> wanted = wanted_by(builder.schedule(), unit);
        if (reduces(input.collective)) {
            add_reduction(builder, tree, unit, lanes, wanted);
        } else {
            add_broadcast(builder, tree, unit, lanes, wanted);
        }
    }
    return builder.take();
}

Schedule build_side_by_side(const BuildInput& input, const std::vector<Tree>& trees) {
    enum Part : std::uint32_t { sends, owns, gets };
    Schedule start = start_schedule(input);
    const auto units = static_cast<std::uint32_t>(trees.size());
    cut_evenly(start, units);
    ScheduleBuilder builder(std::move(start), input.depth);
    std::vector<std::uint32_t> up(input.ranks());
    std::vector<std::uint32_t> down(input.ranks());
    for (std::uint32_t unit = 0; unit < units; ++unit) {
        for (std::uint32_t rank = 0; rank < input.ranks(); ++rank) {
            bool inner = trees[unit].folds[rank].size() > 1;
            // One root serves all units, and has no others to send or to get.
            if (has_root(input.collective) && rank == input.root) inner = unit % 2 == 0;
            up[rank] = inner ? owns : sends;
            down[rank] = inner ? owns : gets;
        }
        const TreeLanes lanes{.up_at = up, .down_at = down, .machine = &input.machine};
        const std::vector<bool> wanted = wanted_by(builder.schedule(), unit);
        if (reduces(input.collective)) {
            add_reduction(builder, trees[unit], unit, lanes, wanted);
        } else {
            add_broadcast(builder, trees[unit], unit, lanes, wanted);
        }
    }
    Schedule schedule = builder.take();
    for (Lane& lane : schedule.lanes) {
        std::ranges::stable_sort(lane.steps, {}, [&](const Step& step) {
            return (step.unit + units - lane.rank % units - 1) % units;
        });
    }
    return schedule;
}

std::vector<std::uint32_t> tree_variants(const BuildInput&, std::uint64_t bytes) {
    return {bytes <= small_message ? 1u : 0u};
}

}  // namespace rondo
