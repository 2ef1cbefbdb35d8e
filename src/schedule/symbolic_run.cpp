#include "schedule/symbolic_run.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rondo {
namespace {

/// In place of the kernel's longer one: what counts is that some chunks are left out.
constexpr std::uint32_t stride_of_waits = 2;

std::string name_of(const Operand& operand) {
    if (operand.kind == Operand::Kind::channel) {
        return fmt::format("a slot of channel {}", operand.index);
    }
    return fmt::format("the {} of rank {}",
                       operand.kind == Operand::Kind::input ? "input" : "output", operand.index);
}

}  // namespace

SymbolicRun::SymbolicRun(const Schedule& schedule, const FlagUses& uses, const Shortcuts& shortcuts,
                         bool in_place, std::uint32_t most_chunks)
    : schedule_(schedule),
      uses_(uses),
      shortcuts_(shortcuts),
      lanes_of_(schedule.ranks),
      everybody_(schedule.ranks),
      clocks_(schedule.lanes.size(), Clock(schedule.lanes.size())),
      flags_(uses.per_chunk.size()),
      buffers_(schedule, in_place, most_chunks) {
    for (std::uint32_t rank = 0; rank < schedule.ranks; ++rank) everybody_.insert(rank);
    for (std::uint32_t lane = 0; lane < schedule.lanes.size(); ++lane) {
        lanes_of_[schedule.lanes[lane].rank].push_back(lane);
    }
    for (const Channel& channel : schedule.channels) slots_.emplace_back(channel.depth);
}

void SymbolicRun::call(std::uint32_t chunks, bool brief) {
    chunks_ = chunks;
    brief_ = brief;
    fill_buffers();
    if (brief) run_early_steps();
    enter();
    if (!brief && shortcuts_.catches_up) catch_up();
    run_lanes();
    if (std::string wrong = buffers_.find_wrong_output(); !wrong.empty()) {
        throw ScheduleProblem{std::move(wrong)};
    }
    leave();
    epoch_ += chunks;
    ++calls_;
}

template <class... Arguments>
void SymbolicRun::fail(fmt::format_string<Arguments...> text, Arguments&&... arguments) const {
    throw ScheduleProblem{fmt::format("{}, chunk {}: {}", describe_step(schedule_, lane_, step_),
                                      chunk_,
                                      fmt::format(text, std::forward<Arguments>(arguments)...))};
}

// ---- the beginning of a call

/// The callers bring new inputs before the ranks' calls begin: a moment that the rank's lanes know
/// of, and others when they have entered.
void SymbolicRun::fill_buffers() {
    buffers_.begin_call(calls_, chunks_);
    for (std::uint32_t rank = 0; rank < schedule_.ranks; ++rank) {
        const std::uint32_t first = lanes_of_[rank].front();
        const Access moment{first, ++clocks_[first][first], 0};
        for (const std::uint32_t lane : lanes_of_[rank]) clocks_[lane][first] = moment.time;
        buffers_.fill(rank, moment);
    }
}

/// Nobody goes on before everybody has come.
void SymbolicRun::enter() {
    Clock all(schedule_.lanes.size());
    for (const Clock& clock : clocks_) join(all, clock);
    std::ranges::fill(clocks_, all);
}

/// Brings flags that brief calls left out to where this call begins, as kernels do.
void SymbolicRun::catch_up() {
    for (std::uint32_t lane = 0; lane < schedule_.lanes.size(); ++lane) {
        for (const StepFlags& step : uses_.steps[lane]) {
            for (const FlagUse& post : step.posts) {
                if (post.in_brief) continue;
                flags_[post.flag].post(std::int64_t{epoch_} * uses_.per_chunk[post.flag],
                                       clocks_[lane]);
            }
        }
    }
}

void SymbolicRun::run_early_steps() {
    chunk_ = 0;
    for (lane_ = 0; lane_ < schedule_.lanes.size(); ++lane_) {
        for (step_ = 0; step_ < shortcuts_.brief.early_steps[lane_]; ++step_) run_step();
    }
}

// ---- steps

void SymbolicRun::run_lanes() {
    std::vector<Progress> progress(schedule_.lanes.size());
    for (std::size_t i = 0; i < progress.size() && brief_; ++i) {
        const std::uint32_t early = shortcuts_.brief.early_steps[i];
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
                 describe_flag(schedule_, blocked_by(step_flags())->flag));
        }
    }
}

bool SymbolicRun::run_lane(Progress& progress) {
    const std::size_t steps = schedule_.lanes[lane_].steps.size();
    bool moved = false;
    while (steps != 0 && progress.chunk < chunks_) {
        step_ = progress.step;
        chunk_ = progress.chunk;
        if (blocked_by(step_flags()) != nullptr) break;
        run_step();
        moved = true;
        if (++progress.step == steps) {
            progress.step = 0;
            progress.chunk = next_chunk(progress.chunk);
        }
    }
    return moved;
}

/// The last one is never left out.
std::uint32_t SymbolicRun::next_chunk(std::uint32_t chunk) const {
    const std::uint32_t last = chunks_ - 1;
    if (!shortcuts_.strides[lane_] || chunk >= last) return chunk + 1;
    return std::min(chunk + stride_of_waits, last);
}

std::int64_t SymbolicRun::value_of(const FlagUse& use) const {
    return std::int64_t{epoch_ + chunk_} * uses_.per_chunk[use.flag] + use.offset;
}

const FlagUse* SymbolicRun::blocked_by(const StepFlags& flags) const {
    for (const FlagUse& wait : flags.waits) {
        if (brief_ && !wait.in_brief) continue;
        if (!flags_[wait.flag].has_reached(value_of(wait))) return &wait;
    }
    return nullptr;
}

void SymbolicRun::run_step() {
    const Step& step = this->step();
    const StepFlags& flags = step_flags();
    Clock& clock = clocks_[lane_];
    for (const FlagUse& wait : flags.waits) {
        if (brief_ && !wait.in_brief) continue;
        flags_[wait.flag].learn(value_of(wait), clock);
    }
    std::optional<Value> result;
    for (std::size_t i = 0; i < step.sources.size(); ++i) {
        fold(result, read(cell(step.sources[i], flags.pops[i]), step.sources[i]), step.unit);
    }
    ++clock[lane_];
    if (result) finish(*result, step);
    for (std::size_t i = 0; i < step.destinations.size(); ++i) {
        write(cell(step.destinations[i], flags.pushes[i]), *result, step.destinations[i]);
    }
    for (const FlagUse& post : flags.posts) {
        if (brief_ && !post.in_brief) continue;
        flags_[post.flag].post(value_of(post), clock);
    }
}

/// `position` is a channel's.
Cell& SymbolicRun::cell(const Operand& operand, std::uint32_t position) {
    if (operand.kind == Operand::Kind::channel) {
        const std::uint64_t per_chunk = uses_.per_chunk[2 * operand.index];
        std::vector<Cell>& slots = slots_[operand.index];
        return slots[((epoch_ + chunk_) * per_chunk + position) % slots.size()];
    }
    Cell* const found = buffers_.find(operand, step().unit, chunk_);
    if (found == nullptr) {
        fail("rank {} has no {} of unit {}", operand.index,
             operand.kind == Operand::Kind::input ? "input" : "output", step().unit);
    }
    return *found;
}

void SymbolicRun::fold(std::optional<Value>& result, const Value& value, std::uint32_t unit) const {
    if (!value.known) {
        fail("it reads what nobody has written");
    }
    if (value.call != calls_ || value.unit != unit || value.chunk != chunk_) {
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

void SymbolicRun::finish(Value& result, const Step& step) const {
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

const Value& SymbolicRun::read(Cell& cell, const Operand& operand) {
    if (cell.write && !before_now(*cell.write)) {
        fail("it reads {} while {} may still write it", name_of(operand),
             describe_step(schedule_, cell.write->lane, cell.write->step));
    }
    cell.reads.push_back({lane_, clocks_[lane_][lane_] + 1, step_});
    return cell.value;
}

void SymbolicRun::write(Cell& cell, const Value& value, const Operand& operand) {
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
    cell.write = Access{lane_, clocks_[lane_][lane_], step_};
    cell.reads.clear();
}

// ---- the end of a call

/// When all lanes of a rank have ended, its buffers are the caller's again, and its next call may
/// begin.
void SymbolicRun::leave() {
    for (std::uint32_t rank = 0; rank < schedule_.ranks; ++rank) {
        Clock clock(schedule_.lanes.size());
        for (const std::uint32_t lane : lanes_of_[rank]) join(clock, clocks_[lane]);
        check_left_alone(rank, clock);
        for (const std::uint32_t lane : lanes_of_[rank]) clocks_[lane] = clock;
    }
}

void SymbolicRun::check_left_alone(std::uint32_t rank, const Clock& clock) const {
    const auto check = [&](const Access& access, const char* what) {
        if (access.time <= clock[access.lane]) return;
        throw ScheduleProblem{fmt::format("{} may {} a buffer of rank {} after that rank has left",
                                          describe_step(schedule_, access.lane, access.step), what,
                                          rank)};
    };
    buffers_.for_each_of(rank, [&](const Cell& cell) {
        if (cell.write) check(*cell.write, "write");
        for (const Access& read : cell.reads) check(read, "read");
    });
}

}  // namespace rondo
