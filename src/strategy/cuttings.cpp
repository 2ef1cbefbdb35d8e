// Few ways, because each is simulated when a size is first seen; which, was found by simulating
// many on all presets and all parts of a DGX-1V.
#include "strategy/cuttings.hpp"

#include <algorithm>
#include <bit>

namespace rondo {
namespace {

constexpr std::uint64_t kibibyte = 1 << 10;
constexpr std::uint64_t mebibyte = 1 << 20;

/// What NCCL's protocol Simple has per step: 4 MiB in 8 steps.
constexpr std::uint64_t most_slot = 512 * kibibyte;

/// From here on it pays to look a little further.
constexpr std::uint64_t large_message = 64 * mebibyte;

/// Many ranks make many steps: few ways, and what sends slices around gets few lanes.
constexpr std::uint32_t many_ranks = 16;

/// Trees of so few ranks can be of one weight.
constexpr std::uint32_t few_ranks = 8;

std::uint64_t valid_slot(std::uint64_t bytes) {
    return std::clamp(bytes, least_slot, most_slot);
}

/// A slot costs the time of its flag, a pipeline as many slots as it is deep: the best grows like
/// the root of the message.
std::uint64_t usual_forest_slot(std::uint64_t bytes) {
    std::uint64_t slot = least_slot;
    while (slot < most_slot && 4 * slot * slot <= 512 * bytes) slot *= 2;
    return slot;
}

/// Trees with lanes of their own.
std::vector<WayToCut> ways_apart(std::uint64_t bytes, std::uint32_t ranks) {
    std::vector<WayToCut> ways;
    const std::uint64_t slot = usual_forest_slot(bytes);
    const auto add = [&](std::uint32_t lanes, bool leaves_push, std::uint64_t slot_bytes) {
        ways.push_back({.lanes = lanes,
                        .depth = 4,
                        .leaves_push = leaves_push,
                        .slot_bytes = valid_slot(slot_bytes)});
    };
    ways.push_back(
        {.lanes = 32, .depth = 4, .fetches = true, .slot_bytes = valid_slot(slot / 8 * 3)});
    add(32, false, slot);
    add(32, false, slot / 2);
    // More lanes make more trees of leaves that push, which are seldom better.
    add(26, true, slot);
    add(26, true, slot / 2);
    if (bytes >= large_message) add(32, true, slot / 2);
    // How well units fit the weights of many trees depends on their number.
    if (bytes >= large_message && ranks > few_ranks) {
        add(30, false, slot);
        add(28, false, slot);
    }
    return ways;
}

/// Lanes that serve several trees.
std::vector<WayToCut> ways_together(std::uint64_t bytes) {
    const std::uint64_t slot = usual_forest_slot(bytes);
    return {{.lanes = 32, .depth = 4, .units_per_lane = 1, .slot_bytes = slot},
            {.lanes = 32, .depth = 4, .units_per_lane = 4, .slot_bytes = slot},
            {.lanes = 32, .depth = 4, .units_per_lane = 4, .slot_bytes = valid_slot(slot / 2)}};
}

/// Data that is only passed on needs no slots, so units are what overlaps.
std::vector<WayToCut> ways_with_many_units(std::uint64_t bytes) {
    std::vector<WayToCut> ways;
    for (const std::uint32_t units_per_lane : {4u, 16u, 32u}) {
        ways.push_back({.lanes = 32, .depth = 4, .units_per_lane = units_per_lane});
        if (bytes <= mebibyte) break;
    }
    return ways;
}

}  // namespace

std::uint64_t WayToCut::slot_for(std::uint64_t unit_bytes) const {
    return slot_bytes != 0 ? slot_bytes
                           : valid_slot(std::bit_ceil((unit_bytes + parts - 1) / parts));
}

std::vector<WayToCut> ways_to_cut(const Strategy& strategy, Collective collective,
                                  std::uint64_t bytes, std::uint32_t ranks) {
    if (bytes <= small_message) return {{.lanes = 1}, {.lanes = 2}};
    const bool forest = strategy.kind() == Strategy::Kind::forest;
    if (ranks > many_ranks) {
        const bool few_steps = forest || strategy.kind() == Strategy::Kind::direct;
        std::vector<WayToCut> ways{{.lanes = few_steps ? 32u : 4u, .depth = 4, .parts = 8}};
        if (forest) ways.push_back({.lanes = 30, .depth = 4, .parts = 32});
        return ways;
    }
    if (forest && ranks > 2) {
        if (collective == Collective::all_reduce) return ways_apart(bytes, ranks);
        return reduces(collective) ? ways_together(bytes) : ways_with_many_units(bytes);
    }
    std::vector<WayToCut> ways;
    for (const std::uint32_t lanes : {8u, 32u}) {
        for (const std::uint64_t parts : {4u, 16u}) {
            ways.push_back({.lanes = lanes, .depth = 4, .parts = parts});
        }
    }
    return ways;
}

}  // namespace rondo
