// Makes candidates: strategies, ways to cut them, and what can be simulated of that.
#include "strategy/trials.hpp"

#include <algorithm>

#include "strategy/cuttings.hpp"

namespace rondo {
namespace {

/// The schedules of one strategy, each with its simulator: ways to cut that differ in their slots
/// share one, and so do those that make no difference here.
class Workshop {
public:
    struct Piece {
        Schedule schedule = {};
        std::shared_ptr<const Simulator> simulator = {};
    };

    explicit Workshop(const Routing& routing) : routing_(routing) {}

    const Piece& piece(Schedule schedule) {
        const auto known = std::ranges::find(pieces_, schedule, &Piece::schedule);
        if (known != pieces_.end()) return *known;
        auto simulator = std::make_shared<const Simulator>(schedule, routing_);
        return pieces_.emplace_back(Piece{std::move(schedule), std::move(simulator)});
    }

private:
    const Routing& routing_;
    std::vector<Piece> pieces_;
};

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

}  // namespace

std::vector<Planner::Trial> Planner::trials(const Strategy& strategy, const Task& task) const {
    const std::uint64_t bytes = size_class(task.bytes);
    std::vector<Trial> result;
    Workshop workshop(routing_for(task, strategy));
    for (const WayToCut& way : ways_to_cut(strategy, bytes, ranks())) {
        Candidate candidate{
            .strategy = strategy,
            .cutting = {way.lanes, way.depth, 0, way.units_per_lane, way.leaves_push}};
        std::shared_ptr<const Simulator> simulator;
        try {
            const Workshop::Piece& piece = workshop.piece(schedule(task, candidate));
            simulator = piece.simulator;
            // Without channels there are no slots, and all of a unit is one chunk.
            const bool has_slots = !piece.schedule.channels.empty();
            candidate.cutting.slot_bytes =
                has_slots ? way.slot_for(largest_unit(piece.schedule, bytes)) : least_slot;
        } catch (const Error& error) {
            candidate.problem = error.what();
        }
        const bool known = std::ranges::any_of(result, [&](const Trial& other) {
            return other.simulator == simulator &&
                   other.candidate.cutting.slot_bytes == candidate.cutting.slot_bytes &&
                   other.candidate.problem == candidate.problem;
        });
        if (!known) result.push_back({std::move(candidate), std::move(simulator)});
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
