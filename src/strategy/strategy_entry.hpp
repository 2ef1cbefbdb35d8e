// What a strategy is to the rest of the library: one entry of one table. To add a strategy, write
// one file that defines an entry, and add its line to strategies.inc.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "strategy/machine_view.hpp"
#include "strategy/request.hpp"

namespace rondo {

/// What a builder is asked for.
struct BuildInput {
    const MachineView& machine;
    Collective collective = Collective::all_reduce;
    std::uint32_t root = 0;                        ///< see Request; 0 where it has no meaning
    std::vector<std::uint32_t> destinations = {};  ///< sorted; everybody except where one chooses
    /// Elements of the message. Only of the entries that say so (limits_units) does the schedule
    /// depend on it.
    std::uint64_t count = UINT64_MAX;
    Strategy strategy = {};     ///< its parameter() is the arity, the packs, the device...
    std::uint32_t variant = 0;  ///< one of those that the entry's variants() has listed
    std::uint32_t depth = 2;    ///< slots of a channel

    std::uint32_t ranks() const { return machine.ranks(); }
};

/// A builder is a pure function: the same input gives the same schedule on every rank. It says who
/// sends what to whom, once:
///   - It does not cut for parallelism. Replicas of the whole schedule run side by side, each on
///   its
///     share of every unit. Phases that must overlap (the way up and down a tree, two directions of
///     a ring) and different trees have lanes of their own; the fewer lanes a rank has, the more
///     replicas fit (lanes * replicas <= 64).
///   - It touches inputs and outputs of ranks that machine.reaches() only. Others get data by
///     channels, whose slots anybody reaches.
///   - Lanes that only overlap chunk by chunk need chunks: channels have them, other schedules say
///     `chunked`.
///   - unit_shares are relative within the unit's part (message, owner, pair of ranks).
///   - What it can't do it refuses with Unsupported, what makes no sense with InvalidArgument.
/// Every schedule is proved by verify() before it runs.
///
/// Entries are constants, so that strategies can be named before main() begins.
struct StrategyEntry {
    std::string_view name;
    /// What the number after the name means, also its key in JSON; empty: there is none.
    std::string_view parameter = {};
    std::int64_t least = 0;  ///< of the parameter
    std::int64_t most = 0;
    /// A parameter that need not be said, and that stands for every form of the strategy.
    std::optional<std::uint32_t> any_form = {};
    /// The schedule depends on the count, where that is smaller than the parameter.
    bool limits_units = false;
    /// Its traffic takes the ways that machine.trees() were made for.
    bool follows_trees = false;

    /// Parameters that tests run through. Null: 0.
    std::vector<std::uint32_t> (*samples)() = nullptr;
    /// Parameters that automatic considers; the message is that of a size class. Null: 0 for a
    /// strategy without a parameter, none for others.
    std::vector<std::uint32_t> (*forms)(const BuildInput& input, std::uint64_t bytes) = nullptr;
    /// Ways to build it that are worth simulating at this size; what the numbers mean is the
    /// builder's affair. Null: 0.
    std::vector<std::uint32_t> (*variants)(const BuildInput& input, std::uint64_t bytes) = nullptr;
    Schedule (*build)(const BuildInput& input) = nullptr;
};

/// All strategies, in the order of strategies.inc. Where simulated times are equal, the first wins.
std::span<const StrategyEntry* const> strategy_table();
/// Throws InvalidArgument for automatic, which is a choice.
const StrategyEntry& entry_of(const Strategy& strategy);
/// Every strategy with every parameter that tests run through.
std::vector<Strategy> sample_strategies();

/// The schedule of one strategy. Throws InvalidArgument for input that makes no sense, Unsupported
/// where the strategy can't do it.
Schedule build(const BuildInput& input);

}  // namespace rondo
