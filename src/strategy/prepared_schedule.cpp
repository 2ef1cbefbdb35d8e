// Climbs from a usual partition to the best around it; few simulations, because each first call of
// a size pays for them.
#include "strategy/prepared_schedule.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

namespace rondo {
namespace {

/// A block that has less to do than this is not worth its flags.
constexpr std::uint64_t least_share = 4 << 10;
constexpr std::uint64_t least_slot = 4 << 10;
/// Beyond, a pipeline only gets longer to fill. NCCL's protocol Simple has 512 KiB per step.
constexpr std::uint64_t most_useful_slot = 1 << 20;
/// Where the search begins, or below, if that lets more replicas fit.
constexpr std::uint64_t usual_slot = 64 << 10;
constexpr std::uint64_t least_first_slot = 16 << 10;
/// Chunks of what is no pipeline: they only keep waits for its end from lasting as long as all of
/// it, and the ranks' deadlines from passing.
constexpr std::uint64_t chunk_without_pipeline = 16 << 20;
/// Slots that are better by less than this end the search.
constexpr double worth_climbing = 0.995;
/// Steps to a better neighbour of what was chosen.
constexpr int most_polishing = 4;
/// Larger ones take too long to simulate.
constexpr std::size_t most_steps_to_polish = 2000;
/// How much slower half the blocks may be.
constexpr double fewer_blocks_are_worth = 1.01;

std::uint64_t in_grains(std::uint64_t bytes) {
    return (bytes + 63) / 64 * 64;
}

bool waits_to_move(const Step& step) {
    const auto is_channel = [](const Operand& it) { return it.kind == Operand::Kind::channel; };
    return !step.destinations.empty() &&
           (!step.waits.empty() || std::ranges::any_of(step.sources, is_channel));
}

}  // namespace

PreparedSchedule prepare_schedule(Schedule given, const Routing& routing) {
    PreparedSchedule result{.schedule = std::move(given)};
    const Schedule& schedule = result.schedule;
    result.simulator = std::make_unique<const Simulator>(schedule, routing);
    std::vector<std::uint32_t> lanes(schedule.ranks);
    std::vector<std::uint64_t> slots(schedule.ranks);
    for (const Lane& lane : schedule.lanes) {
        ++lanes[lane.rank];
        result.steps += lane.steps.size();
        result.is_pipeline = result.is_pipeline || std::ranges::any_of(lane.steps, waits_to_move);
    }
    for (const Channel& channel : schedule.channels) {
        slots[schedule.lanes[channel.to_lane].rank] += channel.depth;
    }
    result.lanes = std::ranges::max(lanes);
    result.slots = std::ranges::max(slots);
    return result;
}

PartitionSearch::PartitionSearch(const PreparedSchedule& prepared, std::uint64_t bytes,
                                 const PartitionLimits& limits)
    : prepared_(&prepared), bytes_(bytes), limits_(limits) {
    const std::string& name = prepared.schedule.name;
    if (prepared.lanes > limits.max_blocks) {
        throw InvalidArgument(fmt::format("{} needs {} blocks per rank; there are {}", name,
                                          prepared.lanes, limits.max_blocks));
    }
    const std::uint32_t most = limits.max_blocks / prepared.lanes;
    if (limits.replicas != 0) {
        replicas_ = std::min(limits.replicas, most);
    } else {
        const double unit = prepared.simulator->largest_unit() * static_cast<double>(bytes);
        const double useful = std::ceil(unit / static_cast<double>(least_share));
        replicas_ = static_cast<std::uint32_t>(std::clamp(useful, 1.0, static_cast<double>(most)));
        const std::uint64_t slot = is_fixed() ? limits.slot_bytes : least_first_slot;
        while (replicas_ > 1 && most_slot(replicas_) < std::min(slot, whole_slot(replicas_))) {
            replicas_ /= 2;
        }
    }
    if (most_slot(replicas_) < (is_fixed() ? limits.slot_bytes : 64)) {
        throw InvalidArgument(
            fmt::format("{} needs {} slots per rank, which do not fit into {} bytes of scratch",
                        name, prepared.slots * replicas_, limits.scratch_bytes));
    }
}

std::uint64_t PartitionSearch::most_slot(std::uint32_t replicas) const {
    if (prepared_->slots == 0) return UINT64_MAX / 64 * 64;
    return limits_.scratch_bytes / (prepared_->slots * replicas) / 64 * 64;
}

std::uint64_t PartitionSearch::whole_slot(std::uint32_t replicas) const {
    const double share =
        prepared_->simulator->largest_unit() * static_cast<double>(bytes_) / replicas;
    // Shares are cut in whole grains, so the largest may have one more.
    return in_grains(static_cast<std::uint64_t>(std::min(share, 0x1p62)) + 64);
}

bool PartitionSearch::has_room() const {
    return most_slot(limits_.max_blocks / prepared_->lanes) >= 2 * usual_slot;
}

double PartitionSearch::least_seconds() const {
    return prepared_->simulator->least_seconds(bytes_, replicas_);
}

PartitionResult PartitionSearch::evaluate(const Partition& partition, double most_seconds) const {
    const Simulation run = prepared_->simulator->run({.bytes = bytes_,
                                                      .slot_bytes = partition.slot_bytes,
                                                      .replicas = partition.replicas,
                                                      .most_seconds = most_seconds});
    return {partition, run.seconds, !run.gave_up};
}

void PartitionSearch::climb(PartitionResult& best, bool up) const {
    const std::uint64_t whole = whole_slot(best.partition.replicas);
    const std::uint64_t most = most_slot(best.partition.replicas);
    while (true) {
        Partition next = best.partition;
        next.slot_bytes = up ? 2 * next.slot_bytes : std::bit_ceil(next.slot_bytes) / 2;
        if (up && next.slot_bytes >= whole) next.slot_bytes = whole;
        const bool is_new = next.slot_bytes != best.partition.slot_bytes;
        if (!is_new || next.slot_bytes < least_slot || next.slot_bytes > most) return;
        if (up && next.slot_bytes > most_useful_slot && next.slot_bytes != whole) return;
        const PartitionResult found = evaluate(next, best.seconds);
        if (!found.simulated || found.seconds >= best.seconds) return;
        const bool goes_on = found.seconds < best.seconds * worth_climbing;
        best = found;
        if (!goes_on) return;
    }
}

PartitionResult PartitionSearch::run(double most_seconds) const {
    Partition first{.replicas = replicas_, .slot_bytes = limits_.slot_bytes};
    if (is_fixed()) return evaluate(first, most_seconds);
    const std::uint64_t whole = whole_slot(replicas_);
    const std::uint64_t usual = prepared_->is_pipeline ? usual_slot : chunk_without_pipeline;
    first.slot_bytes = std::min({usual, whole, most_slot(replicas_)});
    PartitionResult best = evaluate(first, most_seconds);
    if (!best.simulated || !prepared_->is_pipeline) return best;
    climb(best, true);
    if (best.partition == first) climb(best, false);
    while (trade_replicas_for_slots(best)) climb(best, true);
    return best;
}

bool PartitionSearch::trade_replicas_for_slots(PartitionResult& best) const {
    const Partition& known = best.partition;
    if (limits_.replicas != 0 || known.replicas == 1) return false;
    if (known.slot_bytes >= whole_slot(known.replicas)) return false;
    const std::uint32_t replicas = (known.replicas + 1) / 2;
    const std::uint64_t slot = std::min(2 * known.slot_bytes, most_slot(replicas));
    const PartitionResult found = evaluate({replicas, slot}, best.seconds);
    if (!found.simulated || found.seconds >= best.seconds * worth_climbing) return false;
    best = found;
    return true;
}

bool PartitionSearch::look_around(PartitionResult& best) const {
    const auto [replicas, slot] = best.partition;
    std::vector<Partition> around;
    for (const std::uint64_t quarters : {3, 6, 2, 8}) {
        around.push_back({replicas, in_grains(slot / 4 * quarters)});
    }
    if (limits_.replicas == 0) {
        around.push_back({replicas - 1, slot});
        around.push_back({replicas + 1, slot});
    }
    for (const Partition& next : around) {
        if (next.replicas == 0 || next.replicas * prepared_->lanes > limits_.max_blocks) continue;
        if (next.slot_bytes > most_slot(next.replicas) || next.slot_bytes < least_slot) continue;
        if (next.slot_bytes >= whole_slot(next.replicas)) continue;
        const PartitionResult found = evaluate(next, best.seconds);
        if (!found.simulated || found.seconds >= best.seconds * worth_climbing) continue;
        best = found;
        return true;
    }
    return false;
}

PartitionResult PartitionSearch::polish(PartitionResult best) const {
    if (is_fixed() || best.partition.slot_bytes >= whole_slot(best.partition.replicas)) return best;
    if (prepared_->steps > most_steps_to_polish) return best;
    for (int round = 0; round < most_polishing && look_around(best); ++round) {
    }
    return best;
}

PartitionResult PartitionSearch::with_fewer_replicas(PartitionResult best) const {
    if (limits_.replicas != 0) return best;
    const double most = best.seconds * fewer_blocks_are_worth;
    while (best.partition.replicas > 1) {
        Partition next = best.partition;
        next.replicas = (next.replicas + 1) / 2;
        const bool whole = next.slot_bytes >= whole_slot(best.partition.replicas);
        if (!is_fixed() && whole) next.slot_bytes = whole_slot(next.replicas);
        if (next.slot_bytes > most_slot(next.replicas)) return best;
        const PartitionResult found = evaluate(next, most);
        if (!found.simulated || found.seconds > most) return best;
        best = found;
    }
    return best;
}

}  // namespace rondo
