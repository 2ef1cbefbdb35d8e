// Folds that fetch over the same link take turns. If they began together they would also end
// together and wait together for the first byte of their next chunk, and the link would be idle
// meanwhile, again and again; and those that are ahead would go on taking their share, at the cost
// of what comes down the tree at last.
#include "strategy/forest_fetch.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "strategy/equal_trees.hpp"
#include "strategy/fetch_lanes.hpp"
#include "strategy/problem.hpp"
#include "strategy/weighted_trees.hpp"

namespace rondo {
namespace {

std::vector<Tree> all_folds(const std::vector<WeightedTree>& trees) {
    std::vector<Tree> result;
    for (const WeightedTree& tree : trees) result.push_back(folds_of(tree));
    return result;
}

/// As often as there are lanes, once at least.
std::vector<Tree> repeated(const std::vector<Tree>& trees, std::uint32_t lanes) {
    std::vector<Tree> units = trees;
    for (;;) {
        std::vector<Tree> more = units;
        more.insert(more.end(), trees.begin(), trees.end());
        if (fetch_lanes_needed(more) > lanes) return units;
        units = std::move(more);
    }
}

/// Folds that fetch over the same link, in the order in which their chunks come.
class TurnTaker {
public:
    TurnTaker(Schedule& schedule, const std::vector<Tree>& units) : schedule_(schedule) {
        for (const Tree& tree : units) heights_.push_back(heights_in(tree));
    }

    /// Chunk by chunk, a lane begins when the one before it has ended. Nobody waits in a circle:
    /// data goes from height to height, and turns do not lead down again.
    void run() {
        find();
        for (auto& [link, turns] : turns_) {
            std::ranges::sort(turns);
            for (std::size_t i = 1; i < turns.size(); ++i) follow(turns[i - 1].lane, turns[i].lane);
        }
    }

private:
    struct Turn {
        std::uint32_t height = 0;
        std::uint32_t unit = 0;
        std::uint32_t lane = 0;

        auto operator<=>(const Turn&) const = default;
    };

    void find() {
        for (std::uint32_t number = 0; number < schedule_.lanes.size(); ++number) {
            const auto& [rank, steps] = schedule_.lanes[number];
            if (steps.size() != 1 || steps.front().sources.size() < 2) continue;
            const Step& step = steps.front();
            const std::uint32_t child = step.sources[1].index;
            turns_[{child, rank}].push_back({heights_[step.unit][rank], step.unit, number});
        }
    }

    void follow(std::uint32_t before, std::uint32_t after) {
        const auto event = static_cast<std::uint32_t>(schedule_.events.size());
        schedule_.events.push_back({before, after});
        schedule_.lanes[before].steps.front().signals.push_back(event);
        schedule_.lanes[after].steps.front().waits.push_back(event);
    }

    Schedule& schedule_;
    std::vector<std::vector<std::uint32_t>> heights_;  ///< of each unit's ranks
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Turn>> turns_;  ///< by link
};

std::vector<WeightedTree> trees_that_fetch(const Problem& problem,
                                           const std::vector<WeightedTree>& trees, double least) {
    const auto fit = [&problem](const std::vector<WeightedTree>& equal) {
        return fetch_lanes_needed(all_folds(equal)) <= problem.lanes;
    };
    // All but the root have a parent that folds their part, and fetch, at least in half a lane.
    const std::uint32_t most = (problem.lanes - 1) * 2 * problem.ranks / (3 * (problem.ranks - 1));
    if (most == 0) return {};
    return equal_trees(trees, {.most = most, .least = least, .many = true, .accept = fit});
}

}  // namespace

Schedule build_fetching(const Strategy& strategy, const Problem& problem,
                        const std::vector<WeightedTree>& trees, double least) {
    Schedule start = start_schedule(strategy, problem);
    const std::vector<WeightedTree> equal = trees_that_fetch(problem, trees, least);
    if (equal.empty()) return start;
    const std::vector<Tree> units = repeated(all_folds(equal), problem.lanes);
    const std::vector<FetchLanes> lanes = deal_fetch_lanes(units, problem.lanes);
    cut_evenly(start, static_cast<std::uint32_t>(units.size()));
    start.chunked = true;
    ScheduleBuilder builder(std::move(start), problem.depth);
    for (std::uint32_t unit = 0; unit < units.size(); ++unit) {
        add_fetching(builder, units[unit], unit, lanes[unit]);
    }
    Schedule schedule = builder.take();
    TurnTaker(schedule, units).run();
    return schedule;
}

}  // namespace rondo
