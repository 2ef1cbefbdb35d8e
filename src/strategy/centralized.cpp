// Centralized: all send to one, it folds in the order of ranks and writes to all. Two hops; the
// centre receives N - 1 messages and sends N - 1. Reduction to one device: the same, on a device
// that the caller names.
#include <fmt/format.h>

#include "strategy/on_trees.hpp"

namespace rondo {
namespace {

Schedule build_star(const BuildInput& input, std::uint32_t centre) {
    return build_on_trees(
        input, {.centre = [&](std::uint32_t) { return centre; },
                .tree = [&](std::uint32_t root) { return make_star(input.ranks(), root); }});
}

Schedule build_centralized(const BuildInput& input) {
    return build_star(input, input.collective == Collective::reduce
                                 ? input.root
                                 : input.machine.ring_order().front());
}

Schedule build_reduction_to_one_device(const BuildInput& input) {
    const auto device = static_cast<int>(input.strategy.parameter());
    for (std::uint32_t rank = 0; rank < input.ranks(); ++rank) {
        if (input.machine.device(rank) == device) return build_star(input, rank);
    }
    throw InvalidArgument(
        fmt::format("{}: device {} is not in the communicator", to_string(input.strategy), device));
}

std::vector<std::uint32_t> no_forms(const BuildInput&, std::uint64_t) {
    return {};
}

}  // namespace

extern constinit const StrategyEntry centralized_strategy{
    .name = "centralized", .variants = tree_variants, .build = build_centralized};

/// Automatic does not consider it: centralized is the same.
extern constinit const StrategyEntry reduction_to_one_device_strategy{
    .name = "reduction_to_one_device",
    .parameter = "device",
    .most = INT32_MAX,
    .forms = no_forms,
    .variants = tree_variants,
    .build = build_reduction_to_one_device};

}  // namespace rondo
