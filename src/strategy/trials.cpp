// Makes candidates: strategies, ways to cut them, and what can be simulated of that.
#include "strategy/trials.hpp"

#include <algorithm>

#include "strategy/cuttings.hpp"

namespace rondo {
namespace {

constexpr std::uint32_t most_ranks_to_keep = 16;

/// Bytes of the largest unit, and a grain.
std::uint64_t largest_unit(const Schedule& schedule, std::uint64_t bytes) {
    double shares = 0;
    double largest = 0;
    for (const std::uint64_t share : schedule.unit_shares) {
        shares += static_cast<double>(share);
        largest = std::max(largest, static_cast<double>(share));
    }
    const double part = shares == 0 ? 0 : largest / shares;
    return static_cast<std::uint64_t>(static_cast<double>(bytes) * part) + 64;
}

/// Over PCI, ranks should send: reading is slower there, which the simulator does not know.
bool reads_over_fabric(const Schedule& schedule, const Routing& routing) {
    for (const Lane& lane : schedule.lanes) {
        for (const Step& step : lane.steps) {
            for (const Operand& from : step.sources) {
                if (from.kind == Operand::Kind::channel || from.index == lane.rank) continue;
                const Path* const path = routing.path(from.index, lane.rank);
                if (path != nullptr && path->kind >= simulation::PathKind::pci) return false;
            }
        }
    }
    return true;
}

}  // namespace

const Planner::Piece& Planner::piece(PieceKey key) const {
    const auto known = std::ranges::find(pieces_, key, [](const auto& it) { return it->key; });
    if (known != pieces_.end()) return **known;
    auto piece = std::make_unique<Piece>(Piece{.key = std::move(key)});
    try {
        piece->schedule = schedule(
            piece->key.task, {.strategy = piece->key.strategy, .cutting = piece->key.cutting});
        const auto same = std::ranges::find_if(pieces_, [&](const auto& other) {
            return other->simulator != nullptr && other->schedule == piece->schedule;
        });
        piece->simulator =
            same != pieces_.end()
                ? (*same)->simulator
                : std::make_shared<const Simulator>(
                      piece->schedule, routing_for(piece->key.task, piece->key.strategy));
    } catch (const Error& error) {
        piece->problem = error.what();
    }
    return *pieces_.emplace_back(std::move(piece));
}

std::vector<Planner::Trial> Planner::trials(const Strategy& strategy, const Task& task) const {
    const std::uint64_t bytes = size_class(task.bytes);
    // Those of large machines are too large to be kept.
    if (ranks() > most_ranks_to_keep) pieces_.clear();
    std::vector<Trial> result;
    for (const WayToCut& way : ways_to_cut(strategy, task.collective, bytes, ranks())) {
        Candidate candidate{
            .strategy = strategy,
            .cutting = {way.lanes, way.depth, 0, way.units_per_lane, way.leaves_push, way.fetches}};
        PieceKey key{strategy, task, candidate.cutting};
        key.task.bytes = 0;
        const Piece& piece = this->piece(std::move(key));
        candidate.problem = piece.problem;
        if (way.fetches && !reads_over_fabric(piece.schedule, routing_for(task, strategy))) {
            continue;
        }
        // Without chunks there are no slots.
        candidate.cutting.slot_bytes = is_cut_into_chunks(piece.schedule)
                                           ? way.slot_for(largest_unit(piece.schedule, bytes))
                                           : least_slot;
        const bool known = std::ranges::any_of(result, [&](const Trial& other) {
            return other.simulator == piece.simulator &&
                   other.candidate.cutting.slot_bytes == candidate.cutting.slot_bytes &&
                   other.candidate.problem == candidate.problem;
        });
        if (!known) result.push_back({std::move(candidate), piece.simulator});
    }
    return result;
}

std::vector<Candidate> Planner::cuttings(const Strategy& strategy, const Task& task) const {
    std::vector<Candidate> result;
    for (Trial& trial : trials(strategy, task)) result.push_back(std::move(trial.candidate));
    return result;
}

std::vector<Strategy> Planner::strategies(const Task& task) const {
    const bool one_shot =
        task.collective == Collective::all_reduce || task.collective == Collective::reduce_scatter;
    std::vector<Strategy> result{Strategy::forest(),
                                 Strategy::ring(),
                                 Strategy::tree(2),
                                 Strategy::tree(4),
                                 Strategy::hierarchical_copy(2 * ranks()),
                                 Strategy::centralized()};
    if (all_are_peers()) {
        if (one_shot && size_class(task.bytes) <= small_message)
            result.push_back(Strategy::direct(1));
        result.push_back(Strategy::direct(2));
    }
    return result;
}

std::vector<Candidate> Planner::candidates(const Task& task) const {
    std::vector<Candidate> result;
    for (const Strategy& strategy : strategies(task)) {
        for (Candidate& candidate : cuttings(strategy, task)) {
            result.push_back(std::move(candidate));
        }
    }
    return result;
}

}  // namespace rondo
