// Contributions are random 64-bit numbers and sums wrap, so a wrong set of contributions gives a
// wrong number. Every read and every write is an action of its own: what is not ordered gets mixed
// up.
#include "tests/schedule/interpreter.hpp"

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

namespace rondo::test {
namespace {

using Number = std::uint64_t;
constexpr Number finished_factor = 0x9e3779b97f4a7c15;

class Interpreter {
public:
    Interpreter(const Schedule& schedule, const InterpreterOptions& options)
        : schedule_(schedule),
          options_(options),
          random_(options.seed),
          lanes_(schedule.lanes.size()),
          ranks_(schedule.ranks),
          queues_(schedule.channels.size()),
          pushed_(schedule.channels.size()),
          popped_(schedule.channels.size()),
          signalled_(schedule.events.size()),
          waited_(schedule.events.size()),
          memory_(2 * schedule.ranks * units() * options.chunks) {
        for (LaneState& lane : lanes_) lane.weight = random_() % 3 == 0 ? 1 : 60;
        for (std::uint32_t call = 0; call < 2; ++call) {
            for (std::size_t i = 0; i < schedule.ranks * units() * options.chunks; ++i) {
                contributions_[call].push_back(random_());
            }
        }
        for (std::uint32_t rank = 0; rank < schedule.ranks; ++rank) enter(rank);
    }

    std::string run() {
        while (problem_.empty()) {
            const std::size_t lane = pick();
            if (lane == lanes_.size()) break;
            act(static_cast<std::uint32_t>(lane));
        }
        for (const RankState& rank : ranks_) {
            if (problem_.empty() && rank.calls < 2) problem_ = "a lane waits for ever";
        }
        return problem_;
    }

private:
    enum class Phase { wait, read, write, signal };
    struct LaneState {
        std::uint32_t call = 0, chunk = 0, step = 0;
        Phase phase = Phase::wait;
        std::size_t at = 0;  ///< operand within the phase
        Number value = 0;
        std::vector<std::uint32_t> pops;
        unsigned weight = 1;
    };
    struct RankState {
        std::uint32_t entered = 0;  ///< calls begun
        std::uint32_t calls = 0;    ///< calls ended
    };

    std::size_t units() const { return schedule_.unit_shares.size(); }

    Number& cell(Operand::Kind kind, std::uint32_t rank, std::uint32_t unit, std::uint32_t chunk) {
        const std::size_t space = kind == Operand::Kind::output && !options_.in_place ? 1 : 0;
        return memory_[((space * schedule_.ranks + rank) * units() + unit) * options_.chunks +
                       chunk];
    }

    Number contribution(std::uint32_t call, std::uint32_t rank, std::uint32_t unit,
                        std::uint32_t chunk) const {
        return contributions_[call][(rank * units() + unit) * options_.chunks + chunk];
    }

    bool has_input(std::uint32_t rank, std::uint32_t unit) const {
        return rondo::has_input(schedule_, rank, unit);
    }
    bool has_output(std::uint32_t rank, std::uint32_t unit) const {
        return rondo::has_output(schedule_, rank, unit);
    }

    void enter(std::uint32_t rank) {
        const std::uint32_t call = ranks_[rank].entered++;
        for (std::uint32_t unit = 0; unit < units(); ++unit) {
            for (std::uint32_t chunk = 0; chunk < options_.chunks; ++chunk) {
                cell(Operand::Kind::output, rank, unit, chunk) = random_();
                cell(Operand::Kind::input, rank, unit, chunk) =
                    has_input(rank, unit) ? contribution(call, rank, unit, chunk) : random_();
            }
        }
    }

    /// All lanes of the rank have ended: the outputs count now.
    void leave(std::uint32_t rank) {
        const std::uint32_t call = ranks_[rank].calls++;
        for (std::uint32_t unit = 0; unit < units(); ++unit) {
            for (std::uint32_t chunk = 0; chunk < options_.chunks && has_output(rank, unit);
                 ++chunk) {
                if (cell(Operand::Kind::output, rank, unit, chunk) != expected(call, unit, chunk)) {
                    problem_ = "a wrong output";
                }
            }
        }
        if (call == 0) enter(rank);
    }

    Number expected(std::uint32_t call, std::uint32_t unit, std::uint32_t chunk) const {
        Number sum = 0;
        for (std::uint32_t rank = 0; rank < schedule_.ranks; ++rank) {
            if (has_input(rank, unit)) sum += contribution(call, rank, unit, chunk);
        }
        return reduces(schedule_.collective) ? sum * finished_factor : sum;
    }

    bool ended(const LaneState& state, std::size_t lane) const {
        return schedule_.lanes[lane].steps.empty() || state.chunk == options_.chunks;
    }

    /// A random lane that can do something, or their number if there is none.
    std::size_t pick() {
        leave_ranks();
        std::vector<std::size_t> able;
        std::uint64_t weights = 0;
        for (std::size_t lane = 0; lane < lanes_.size() && problem_.empty(); ++lane) {
            if (can_act(lane)) {
                able.push_back(lane);
                weights += lanes_[lane].weight;
            }
        }
        if (able.empty()) return lanes_.size();
        std::uint64_t draw = random_() % weights;
        for (const std::size_t lane : able) {
            if (draw < lanes_[lane].weight) return lane;
            draw -= lanes_[lane].weight;
        }
        return able.back();
    }

    void leave_ranks() {
        for (std::uint32_t rank = 0; rank < schedule_.ranks; ++rank) {
            if (ranks_[rank].calls == 2) continue;
            bool all = true;
            for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
                if (schedule_.lanes[lane].rank == rank) {
                    all =
                        all && lanes_[lane].call == ranks_[rank].calls && ended(lanes_[lane], lane);
                }
            }
            const bool entered = std::all_of(
                ranks_.begin(), ranks_.end(),
                [&](const RankState& other) { return other.entered > ranks_[rank].calls; });
            if (!all || !entered) continue;
            leave(rank);
            for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
                if (schedule_.lanes[lane].rank == rank && ranks_[rank].calls < 2) {
                    lanes_[lane].call = ranks_[rank].calls;
                    lanes_[lane].chunk = lanes_[lane].step = 0;
                }
            }
        }
    }

    bool can_act(std::size_t lane) const {
        const LaneState& state = lanes_[lane];
        if (ended(state, lane)) return false;
        for (const RankState& rank : ranks_) {
            if (rank.entered <= state.call) return false;  // not all have come yet
        }
        if (state.phase != Phase::wait) return true;
        const Step& step = schedule_.lanes[lane].steps[state.step];
        for (const std::uint32_t event : step.waits) {
            const auto uses = std::count(step.waits.begin(), step.waits.end(), event);
            if (signalled_[event] < waited_[event] + static_cast<std::uint64_t>(uses)) return false;
        }
        for (const Operand& operand : step.sources) {
            if (operand.kind != Operand::Kind::channel) continue;
            const auto uses = std::count(step.sources.begin(), step.sources.end(), operand);
            if (pushed_[operand.index] <
                popped_[operand.index] + static_cast<std::uint64_t>(uses)) {
                return false;
            }
        }
        for (const Operand& operand : step.destinations) {
            if (operand.kind != Operand::Kind::channel) continue;
            const auto uses =
                std::count(step.destinations.begin(), step.destinations.end(), operand);
            if (pushed_[operand.index] + static_cast<std::uint64_t>(uses) >
                popped_[operand.index] + schedule_.channels[operand.index].depth) {
                return false;
            }
        }
        return true;
    }

    void act(std::uint32_t lane) {
        LaneState& state = lanes_[lane];
        const Step& step = schedule_.lanes[lane].steps[state.step];
        switch (state.phase) {
            case Phase::wait:
                for (const std::uint32_t event : step.waits) ++waited_[event];
                state.value = 0;
                state.pops.clear();
                state.at = 0;
                state.phase = Phase::read;
                break;
            case Phase::read:
                if (state.at < step.sources.size()) {
                    state.value += read(state, step, step.sources[state.at++]);
                } else {
                    if (step.finishes) state.value *= finished_factor;
                    state.at = 0;
                    state.phase = Phase::write;
                }
                break;
            case Phase::write:
                if (state.at < step.destinations.size()) {
                    write(state, step, step.destinations[state.at++]);
                } else {
                    state.phase = Phase::signal;
                }
                break;
            case Phase::signal:
                for (const Operand& operand : step.destinations) {
                    if (operand.kind == Operand::Kind::channel) ++pushed_[operand.index];
                }
                for (const std::uint32_t channel : state.pops) {
                    ++popped_[channel];
                    queues_[channel].pop_front();
                }
                for (const std::uint32_t event : step.signals) ++signalled_[event];
                state.phase = Phase::wait;
                if (++state.step == schedule_.lanes[lane].steps.size()) {
                    state.step = 0;
                    ++state.chunk;
                }
                break;
        }
    }

    Number read(LaneState& state, const Step& step, const Operand& operand) {
        if (operand.kind != Operand::Kind::channel) {
            return cell(operand.kind, operand.index, step.unit, state.chunk);
        }
        const auto before = std::count(state.pops.begin(), state.pops.end(), operand.index);
        state.pops.push_back(operand.index);
        return queues_[operand.index][static_cast<std::size_t>(before)];
    }

    void write(const LaneState& state, const Step& step, const Operand& operand) {
        if (operand.kind == Operand::Kind::channel) {
            queues_[operand.index].push_back(state.value);
        } else {
            cell(operand.kind, operand.index, step.unit, state.chunk) = state.value;
        }
    }

    const Schedule& schedule_;
    const InterpreterOptions options_;
    std::mt19937_64 random_;
    std::vector<LaneState> lanes_;
    std::vector<RankState> ranks_;
    std::vector<std::deque<Number>> queues_;
    std::vector<std::uint64_t> pushed_, popped_, signalled_, waited_;
    std::vector<Number> memory_;
    std::vector<Number> contributions_[2];
    std::string problem_;
};

}  // namespace

std::string interpret(const Schedule& schedule, const InterpreterOptions& options) {
    return Interpreter(schedule, options).run();
}

}  // namespace rondo::test
