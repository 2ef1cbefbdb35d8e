// Symbolic execution with vector clocks. Waits are for counters that only grow, so one greedy
// execution finds every deadlock; the clocks carry only what the flags guarantee, so it finds every
// race too, whatever order it happens to run the lanes in.
#include "schedule/verify.hpp"

#include "schedule/rates.hpp"
#include "schedule/symbolic_buffers.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rondo {
namespace {

/// A FIFO or an event: what happened to it, and what its partner may conclude from that.
struct Link {
    ClockHistory sent;        ///< the sender's clock at each push or signal
    ClockHistory received;    ///< of a channel: the receiver's at each pop
    std::size_t waits = 0;    ///< of an event
    std::vector<Cell> slots;  ///< of a channel

    /// Nobody needs what was received.
    void send(const Clock& clock, std::size_t done) { sent.push(clock, sent.size() + 1 - done); }
};

/// What a step must still wait for.
struct Obstacle {
    enum class Kind { event, data, slot } kind;
    std::uint32_t index;  ///< of the event or channel
};

struct Problem {
    std::string text;
};

class Verifier {
public:
    /// With `brief`: brief calls, which have no other flags than it leaves.
    Verifier(const Schedule& schedule, bool in_place, const BriefCall* brief)
        : schedule_(schedule),
          brief_(brief),
          chunks_(brief != nullptr ? 1 : chunks_to_run(schedule)),
          everybody_(schedule.ranks),
          clocks_(schedule.lanes.size(), Clock(schedule.lanes.size())),
          channels_(schedule.channels.size()),
          events_(schedule.events.size()),
          buffers_(schedule, in_place, chunks_) {
        for (std::uint32_t rank = 0; rank < schedule.ranks; ++rank) {
            everybody_.insert(rank);
        }
        for (std::size_t i = 0; i < channels_.size(); ++i) {
            channels_[i].slots.resize(schedule.channels[i].depth);
            deepest_ = std::max(deepest_, schedule.channels[i].depth);
        }
    }

    void run() {
        // Brief calls go around all slots.
        const std::uint32_t calls = brief_ != nullptr ? deepest_ + 2 : 2;
        for (call_ = 0; call_ < calls; ++call_) {
            fill_buffers();
            if (brief_ != nullptr) run_early_steps();
            enter();
            run_lanes();
            check_outputs();
            leave();
        }
    }

private:
    /// Enough that every channel goes around its slots.
    static std::uint32_t chunks_to_run(const Schedule& schedule) {
        const std::vector<std::uint32_t> pushes = pushes_per_chunk(schedule);
        std::uint32_t chunks = 3;
        for (std::size_t i = 0; i < pushes.size(); ++i) {
            const std::uint32_t rate = std::max(pushes[i], 1u);
            chunks = std::max(chunks, (schedule.channels[i].depth + rate) / rate + 1);
        }
        return chunks;
    }

    // ---- buffers

    Cell& cell(const Operand& operand, std::uint32_t unit, std::uint32_t chunk) {
        if (!buffers_.exists(operand, unit)) {
            fail("rank {} has no {} of unit {}", operand.index,
                 operand.kind == Operand::Kind::input ? "input" : "output", unit);
        }
        return buffers_.cell(operand, unit, chunk);
    }

    /// The callers bring new inputs before the ranks' calls begin.
    void fill_buffers() {
        buffers_.clear();
        for (std::uint32_t rank = 0; rank < schedule_.ranks; ++rank) {
            buffers_.fill(rank, call_, begin_call(rank));
        }
    }

    /// A moment that the rank's lanes know of, and others when they have entered.
    Access begin_call(std::uint32_t rank) {
        std::optional<Access> moment;
        for (std::uint32_t lane = 0; lane < schedule_.lanes.size(); ++lane) {
            if (schedule_.lanes[lane].rank != rank) continue;
            if (!moment) {
                moment = Access{lane, ++clocks_[lane][lane], 0};
            }
            clocks_[lane][moment->lane] = moment->time;
        }
        return *moment;
    }

    // ---- execution

    template <class... Arguments>
    [[noreturn]] void fail(fmt::format_string<Arguments...> text, Arguments&&... arguments) const {
        throw Problem{fmt::format("{}, chunk {}: {}", describe_step(schedule_, lane_, step_),
                                  chunk_,
                                  fmt::format(text, std::forward<Arguments>(arguments)...))};
    }

    struct Progress {
        std::uint32_t chunk = 0;
        std::uint32_t step = 0;
    };

    void run_early_steps() {
        for (lane_ = 0; lane_ < schedule_.lanes.size(); ++lane_) {
            for (step_ = 0; step_ < brief_->early_steps[lane_]; ++step_) {
                chunk_ = 0;
                run_step(schedule_.lanes[lane_].steps[step_]);
            }
        }
    }

    void run_lanes() {
        std::vector<Progress> progress(schedule_.lanes.size());
        for (std::size_t i = 0; i < progress.size() && brief_ != nullptr; ++i) {
            const std::uint32_t early = brief_->early_steps[i];
            const bool all = early == schedule_.lanes[i].steps.size();
            progress[i] = all ? Progress{1, 0} : Progress{0, early};
        }
        bool moved = true;
        while (moved) {
            moved = false;
            for (lane_ = 0; lane_ < schedule_.lanes.size(); ++lane_) {
                moved |= run_lane(progress[lane_]);
            }
        }
        for (lane_ = 0; lane_ < schedule_.lanes.size(); ++lane_) {
            if (!schedule_.lanes[lane_].steps.empty() && progress[lane_].chunk < chunks_) {
                step_ = progress[lane_].step;
                chunk_ = progress[lane_].chunk;
                fail("it waits for ever for {}",
                     describe(*blocked_by(schedule_.lanes[lane_].steps[step_])));
            }
        }
    }

    bool run_lane(Progress& progress) {
        const std::vector<Step>& steps = schedule_.lanes[lane_].steps;
        bool moved = false;
        while (!steps.empty() && progress.chunk < chunks_) {
            step_ = progress.step;
            chunk_ = progress.chunk;
            if (blocked_by(steps[step_])) {
                break;
            }
            run_step(steps[step_]);
            moved = true;
            if (++progress.step == steps.size()) {
                progress.step = 0;
                ++progress.chunk;
            }
        }
        return moved;
    }

    std::string describe(const Obstacle& obstacle) const {
        const std::uint32_t index = obstacle.index;
        switch (obstacle.kind) {
            case Obstacle::Kind::event:
                return fmt::format("event {} from lane {}", index,
                                   schedule_.events[index].from_lane);
            case Obstacle::Kind::data:
                return fmt::format("data of channel {} from lane {}", index,
                                   schedule_.channels[index].from_lane);
            default:
                return fmt::format("a free slot of channel {} to lane {}", index,
                                   schedule_.channels[index].to_lane);
        }
    }

    std::optional<Obstacle> blocked_by(const Step& step) const {
        for (const std::uint32_t event : step.waits) {
            const Link& link = events_[event];
            const auto waits = std::count(step.waits.begin(), step.waits.end(), event);
            if (link.sent.size() < link.waits + static_cast<std::size_t>(waits)) {
                return Obstacle{Obstacle::Kind::event, event};
            }
        }
        for (const Operand& operand : step.sources) {
            if (operand.kind == Operand::Kind::channel) {
                const Link& link = channels_[operand.index];
                const auto pops = std::count(step.sources.begin(), step.sources.end(), operand);
                if (link.sent.size() < link.received.size() + static_cast<std::size_t>(pops)) {
                    return Obstacle{Obstacle::Kind::data, operand.index};
                }
            }
        }
        for (const Operand& operand : step.destinations) {
            if (operand.kind == Operand::Kind::channel) {
                if (needs_no_credit(operand.index)) continue;
                const Link& link = channels_[operand.index];
                const auto pushes =
                    std::count(step.destinations.begin(), step.destinations.end(), operand);
                if (link.sent.size() + static_cast<std::size_t>(pushes) >
                    link.received.size() + schedule_.channels[operand.index].depth) {
                    return Obstacle{Obstacle::Kind::slot, operand.index};
                }
            }
        }
        return std::nullopt;
    }

    bool needs_no_credit(std::uint32_t channel) const {
        return brief_ != nullptr && brief_->roomy[channel];
    }
    bool needs_no_data_flag(std::uint32_t channel) const {
        return brief_ != nullptr && brief_->early[channel];
    }

    void run_step(const Step& step) {
        Clock& clock = clocks_[lane_];
        for (const std::uint32_t event : step.waits) {
            Link& link = events_[event];
            join(clock, link.sent[link.waits++]);
        }
        for (const Operand& operand : step.destinations) {
            if (operand.kind == Operand::Kind::channel) {
                const Link& link = channels_[operand.index];
                const std::size_t depth = schedule_.channels[operand.index].depth;
                if (link.sent.size() >= depth && !needs_no_credit(operand.index)) {
                    join(clock, link.received[link.sent.size() - depth]);
                }
            }
        }
        popped_.clear();
        std::optional<Value> result;
        for (const Operand& operand : step.sources) {
            const Value& value = operand.kind == Operand::Kind::channel
                                     ? pop(operand.index)
                                     : read(cell(operand, step.unit, chunk_), operand);
            fold(result, value, step.unit);
        }
        ++clock[lane_];
        if (result) {
            finish(*result, step);
            for (const Operand& operand : step.destinations) {
                if (operand.kind == Operand::Kind::channel) {
                    push(operand.index, *result);
                } else {
                    write(cell(operand, step.unit, chunk_), *result, operand);
                }
            }
        }
        for (const std::uint32_t channel : popped_) {
            channels_[channel].received.push(clock, schedule_.channels[channel].depth);
        }
        for (const std::uint32_t event : step.signals) {
            events_[event].send(clock, events_[event].waits);
        }
    }

    const Value& pop(std::uint32_t channel) {
        Link& link = channels_[channel];
        const auto before = std::count(popped_.begin(), popped_.end(), channel);
        const std::size_t position = link.received.size() + static_cast<std::size_t>(before);
        if (!needs_no_data_flag(channel)) {
            join(clocks_[lane_], link.sent[position]);
        }
        popped_.push_back(channel);
        return read(link.slots[position % link.slots.size()],
                    Operand{Operand::Kind::channel, channel});
    }

    void push(std::uint32_t channel, const Value& value) {
        Link& link = channels_[channel];
        write(link.slots[link.sent.size() % link.slots.size()], value,
              Operand{Operand::Kind::channel, channel});
        link.send(clocks_[lane_], link.received.size());
    }

    void fold(std::optional<Value>& result, const Value& value, std::uint32_t unit) const {
        if (!value.known) {
            fail("it reads what nobody has written");
        }
        if (value.call != call_ || value.unit != unit || value.chunk != chunk_) {
            fail("it reads {} where unit {} was expected", value.print(), unit);
        }
        if (!result) {
            result = value;
            return;
        }
        if (!reduces(schedule_.collective)) {
            fail("it adds values, but {} only copies", to_string(schedule_.collective));
        }
        if (value.finished || result->finished) {
            fail("it adds to a finished result");
        }
        if (!result->from.merge(value.from)) {
            fail("it adds {} twice: there are {} already", value.print(), result->from.members());
        }
    }

    void finish(Value& result, const Step& step) const {
        if (!step.finishes) {
            return;
        }
        if (!reduces(schedule_.collective)) {
            fail("it finishes a result, but {} has none", to_string(schedule_.collective));
        }
        if (result.finished) {
            fail("it finishes a result again");
        }
        if (!(result.from == everybody_)) {
            fail("it finishes a result that holds only {}", result.print());
        }
        result.finished = true;
    }

    // ---- order of accesses

    bool before_now(const Access& access) const {
        return access.time <= clocks_[lane_][access.lane];
    }

    const Value& read(Cell& cell, const Operand& operand) {
        if (cell.write && !before_now(*cell.write)) {
            fail("it reads {} while {} may still write it", name_of(operand),
                 describe_step(schedule_, cell.write->lane, cell.write->step));
        }
        cell.reads.push_back({lane_, clocks_[lane_][lane_] + 1, static_cast<std::uint32_t>(step_)});
        return cell.value;
    }

    void write(Cell& cell, const Value& value, const Operand& operand) {
        if (cell.write && !before_now(*cell.write)) {
            fail("it writes {} while {} may still write it", name_of(operand),
                 describe_step(schedule_, cell.write->lane, cell.write->step));
        }
        for (const Access& read : cell.reads) {
            if (!before_now(read)) {
                fail("it writes {} while {} may still read it", name_of(operand),
                     describe_step(schedule_, read.lane, read.step));
            }
        }
        cell.value = value;
        cell.write = Access{lane_, clocks_[lane_][lane_], static_cast<std::uint32_t>(step_)};
        cell.reads.clear();
    }

    static std::string name_of(const Operand& operand) {
        if (operand.kind == Operand::Kind::channel) {
            return fmt::format("a slot of channel {}", operand.index);
        }
        return fmt::format("the {} of rank {}",
                           operand.kind == Operand::Kind::input ? "input" : "output",
                           operand.index);
    }

    // ---- the end of a call

    void check_outputs() const {
        if (std::string wrong = buffers_.find_wrong_output(call_); !wrong.empty()) {
            throw Problem{std::move(wrong)};
        }
    }

    /// Nobody goes on before everybody has come.
    void enter() {
        Clock all(schedule_.lanes.size());
        for (const Clock& clock : clocks_) join(all, clock);
        std::fill(clocks_.begin(), clocks_.end(), all);
    }

    /// When all lanes of a rank have ended, its buffers are the caller's again, and its next call
    /// may begin.
    void leave() {
        for (std::uint32_t rank = 0; rank < schedule_.ranks; ++rank) {
            const auto is_its = [&](std::size_t lane) {
                return schedule_.lanes[lane].rank == rank;
            };
            Clock clock(schedule_.lanes.size());
            for (std::size_t lane = 0; lane < clocks_.size(); ++lane) {
                if (is_its(lane)) join(clock, clocks_[lane]);
            }
            check_left_alone(rank, clock);
            for (std::size_t lane = 0; lane < clocks_.size(); ++lane) {
                if (is_its(lane)) clocks_[lane] = clock;
            }
        }
    }

    void check_left_alone(std::uint32_t rank, const Clock& clock) const {
        buffers_.for_each_of(rank, [&](const Cell& cell) {
            if (cell.write) {
                check_left_alone(rank, clock, *cell.write, "write");
            }
            for (const Access& read : cell.reads) {
                check_left_alone(rank, clock, read, "read");
            }
        });
    }

    void check_left_alone(std::uint32_t rank, const Clock& clock, const Access& access,
                          const char* what) const {
        if (access.time > clock[access.lane]) {
            throw Problem{fmt::format("{} may {} a buffer of rank {} after that rank has left",
                                      describe_step(schedule_, access.lane, access.step), what,
                                      rank)};
        }
    }

    const Schedule& schedule_;
    const BriefCall* const brief_;
    const std::uint32_t chunks_;
    std::uint32_t deepest_ = 0;
    RankSet everybody_;
    std::vector<Clock> clocks_;
    std::vector<Link> channels_;
    std::vector<Link> events_;
    SymbolicBuffers buffers_;
    std::vector<std::uint32_t> popped_;  ///< channels, in the present step
    std::uint32_t call_ = 0;
    // Where the execution is, for messages.
    std::uint32_t lane_ = 0;
    std::size_t step_ = 0;
    std::uint32_t chunk_ = 0;
};

}  // namespace

Verification verify(const Schedule& schedule, const BriefCall& brief) {
    if (std::string uneven = find_uneven_rate(schedule); !uneven.empty()) {
        return {std::move(uneven)};
    }
    for (const BriefCall* const calls : {static_cast<const BriefCall*>(nullptr), &brief}) {
        for (const bool in_place : {false, true}) {
            try {
                Verifier(schedule, in_place, calls).run();
            } catch (const Problem& problem) {
                return {fmt::format("{}{}{}", problem.text, in_place ? " (in place)" : "",
                                    calls != nullptr ? " (in a brief call)" : "")};
            }
        }
    }
    return {};
}

Verification verify(const Schedule& schedule) {
    validate(schedule);
    return verify(schedule, brief_call(schedule));
}

void require_verified(const Schedule& schedule) {
    const Verification verification = verify(schedule);
    if (!verification) {
        throw InvalidArgument(
            fmt::format("the schedule '{}' is wrong: {}", schedule.name, verification.problem));
    }
}

}  // namespace rondo
