// Hierarchical copy, as TensorFlow does it on a DGX-1: the message is cut into packs; a pack's main
// device folds its half of the machine, then what its counterpart has folded of the other half, and
// copies go back along the same edges. Mains rotate over the ranks from pack to pack.
#include <algorithm>

#include <fmt/format.h>

#include "strategy/on_trees.hpp"

namespace rondo {
namespace {

/// More would make a schedule that takes longer to build than to run.
constexpr std::uint64_t most_packs = 4096;

std::vector<std::uint32_t> members_of(const MachineView& machine, std::uint32_t half) {
    std::vector<std::uint32_t> members;
    for (std::uint32_t rank = 0; rank < machine.ranks(); ++rank) {
        if (machine.halves()[rank] == half) members.push_back(rank);
    }
    return members;
}

/// `main` folds its half in the order of ranks, then what its counterpart has folded of the other.
Tree make_hierarchy(const MachineView& machine, std::uint32_t main) {
    const std::uint32_t half = machine.halves()[main];
    const std::vector<std::uint32_t> own = members_of(machine, half);
    const std::vector<std::uint32_t> other = members_of(machine, 1 - half);
    Tree tree{.root = main, .folds = {}};
    tree.folds.resize(machine.ranks());
    for (std::uint32_t rank = 0; rank < machine.ranks(); ++rank) tree.folds[rank] = {rank};
    tree.folds[main] = own;
    if (!other.empty()) {
        const auto place = std::ranges::find(own, main) - own.begin();
        const std::uint32_t counterpart = other[static_cast<std::size_t>(place) % other.size()];
        tree.folds[counterpart] = other;
        tree.folds[main].push_back(counterpart);
    }
    return tree;
}

/// Packs beyond the elements would be empty.
std::uint32_t packs_of(const BuildInput& input) {
    const std::uint64_t packs = std::max<std::uint64_t>(
        1, std::min<std::uint64_t>(input.strategy.parameter(), input.count));
    if (packs > most_packs && !has_owners(input.collective)) {
        throw Unsupported(fmt::format("{} would cut the message into {} packs; {} is the limit",
                                      to_string(input.strategy), packs, most_packs));
    }
    return static_cast<std::uint32_t>(packs);
}

Schedule build_hierarchical_copy(const BuildInput& input) {
    return build_on_trees(
        input, {.units = packs_of(input),
                .centre = [&](std::uint32_t pack) { return pack % input.ranks(); },
                .tree = [&](std::uint32_t main) { return make_hierarchy(input.machine, main); }});
}

}  // namespace

extern constinit const StrategyEntry hierarchical_copy_strategy{
    .name = "hierarchical_copy",
    .parameter = "num_packs",
    .least = 1,
    .most = INT32_MAX,
    .limits_units = true,
    .samples =
        [] {
            return std::vector<std::uint32_t>{1, 3, 8};
        },
    .forms = [](const BuildInput& input,
                std::uint64_t) { return std::vector<std::uint32_t>{2 * input.ranks()}; },
    .variants = tree_variants,
    .build = build_hierarchical_copy};

}  // namespace rondo
