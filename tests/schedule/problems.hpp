// Collectives and schedules that every suite over schedules runs through.
#pragma once

#include <vector>

#include "strategy/strategy_entry.hpp"

namespace rondo::test {

inline const std::vector<Collective> all_collectives{
    Collective::all_reduce,     Collective::reduce,     Collective::broadcast,
    Collective::reduce_scatter, Collective::all_gather, Collective::all_to_all,
    Collective::gather,         Collective::scatter};

/// What the strategy builds, on ranks that all reach each other; nothing where it does not apply.
inline std::optional<Schedule> try_build(const BuildInput& input) {
    try {
        return build(input);
    } catch (const Unsupported&) {
        return std::nullopt;
    }
}

/// The variants of a strategy for large messages.
inline std::vector<std::uint32_t> variants_of(const BuildInput& input) {
    const auto variants = entry_of(input.strategy).variants;
    return variants == nullptr ? std::vector<std::uint32_t>{0} : variants(input, 1 << 28);
}

/// One schedule of a strategy, as small tests want it.
inline Schedule simple(const Strategy& strategy, std::uint32_t ranks,
                       Collective collective = Collective::all_reduce, std::uint32_t depth = 2) {
    const MachineView machine(ranks);
    return build(
        {.machine = machine, .collective = collective, .strategy = strategy, .depth = depth});
}

}  // namespace rondo::test
