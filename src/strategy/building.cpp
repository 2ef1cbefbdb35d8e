// Checks what is asked of a builder, and starts its schedule.
#include "strategy/building.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/program.hpp"

namespace rondo {
namespace {

void require(bool condition, const std::string& text) {
    if (!condition) throw InvalidArgument(text);
}

void check(const BuildInput& input) {
    const std::uint32_t ranks = input.ranks();
    require(ranks >= 1, "a collective needs at least one rank");
    require(input.root < ranks,
            fmt::format("root is {}, but there are {} ranks", input.root, ranks));
    for (const std::uint32_t rank : input.destinations) {
        require(rank < ranks,
                fmt::format("destination {} does not exist, there are {} ranks", rank, ranks));
    }
    require(input.collective != Collective::reduce || input.destinations.empty() ||
                std::ranges::find(input.destinations, input.root) != input.destinations.end(),
            fmt::format("the root of reduce, rank {}, is no destination: {}", input.root,
                        fmt::join(input.destinations, ", ")));
    require(std::has_single_bit(input.depth),
            fmt::format("depth is {}; it must be a power of two", input.depth));
    if (ranks > kernels::max_step_spans) {
        throw Unsupported(
            fmt::format("{} ranks; there may be {} at most", ranks, kernels::max_step_spans));
    }
}

}  // namespace

Schedule start_schedule(const BuildInput& input) {
    const std::uint32_t ranks = input.ranks();
    Schedule schedule{.name = to_string(input.strategy),
                      .collective = input.collective,
                      .ranks = ranks,
                      .root = has_root(input.collective) ? input.root : 0,
                      .destinations = input.destinations};
    const bool selects =
        input.collective == Collective::reduce || input.collective == Collective::broadcast;
    if (schedule.destinations.empty() || !selects) {
        schedule.destinations.resize(ranks);
        std::iota(schedule.destinations.begin(), schedule.destinations.end(), 0u);
    }
    if (input.collective == Collective::gather) schedule.destinations = {input.root};
    std::ranges::sort(schedule.destinations);
    const auto repeated = std::ranges::unique(schedule.destinations);
    schedule.destinations.erase(repeated.begin(), repeated.end());
    if (has_owners(input.collective)) {
        const bool pairs = input.collective == Collective::all_to_all;
        const std::uint32_t units = pairs ? ranks * ranks : ranks;
        schedule.unit_shares.assign(units, 1);
        for (std::uint32_t unit = 0; unit < units; ++unit) {
            schedule.unit_owners.push_back(pairs ? unit / ranks : unit);
            if (pairs) schedule.unit_receivers.push_back(unit % ranks);
        }
    }
    // A chunk as large as everything is none, so nobody loses.
    schedule.chunked = true;
    return schedule;
}

void cut_evenly(Schedule& schedule, std::uint32_t units) {
    if (schedule.unit_shares.empty()) schedule.unit_shares.assign(units, 1);
}

std::vector<bool> wanted_by(const Schedule& schedule, std::uint32_t unit) {
    std::vector<bool> wanted(schedule.ranks);
    for (std::uint32_t rank = 0; rank < schedule.ranks; ++rank) {
        wanted[rank] = has_output(schedule, rank, unit);
    }
    return wanted;
}

void refuse_collective(const BuildInput& input) {
    throw Unsupported(fmt::format("{} does not apply to {}", to_string(input.strategy),
                                  to_string(input.collective)));
}

void require_tree_collective(const BuildInput& input) {
    switch (input.collective) {
        case Collective::all_reduce:
        case Collective::reduce:
        case Collective::broadcast:
        case Collective::reduce_scatter:
        case Collective::all_gather:
            return;
        default:
            refuse_collective(input);
    }
}

Schedule build(const BuildInput& input) {
    check(input);
    return entry_of(input.strategy).build(input);
}

}  // namespace rondo
