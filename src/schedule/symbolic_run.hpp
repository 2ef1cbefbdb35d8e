// Symbolic execution with vector clocks. Waits are for counters that only grow, so one greedy
// execution finds every deadlock; the clocks carry only what the flags guarantee, so it finds every
// race too, whatever order it happens to run the lanes in.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rondo/schedule.hpp"
#include "schedule/flag_use.hpp"
#include "schedule/shortcuts.hpp"
#include "schedule/symbolic_buffers.hpp"

namespace rondo {

/// What is wrong, and where.
struct ScheduleProblem {
    std::string text;
};

/// Calls of one schedule, one after the other, that share flags and slots as those of a plan do.
class SymbolicRun {
public:
    /// For calls of at most `most_chunks`.
    SymbolicRun(const Schedule& schedule, const FlagUses& uses, const Shortcuts& shortcuts,
                bool in_place, std::uint32_t most_chunks);

    /// Throws ScheduleProblem. Brief calls have one chunk, and come behind one of at most one.
    void call(std::uint32_t chunks, bool brief);

private:
    struct Progress {
        std::uint32_t chunk = 0;
        std::uint32_t step = 0;
    };

    template <class... Arguments>
    [[noreturn]] void fail(fmt::format_string<Arguments...> text, Arguments&&... arguments) const;

    void fill_buffers();
    void enter();
    void catch_up();
    void run_early_steps();
    void run_lanes();
    bool run_lane(Progress& progress);
    void leave();
    void check_left_alone(std::uint32_t rank, const Clock& clock) const;

    std::uint32_t next_chunk(std::uint32_t chunk) const;
    std::int64_t value_of(const FlagUse& use) const;
    const FlagUse* blocked_by(const StepFlags& flags) const;
    void run_step();
    Cell& cell(const Operand& operand, std::uint32_t position);
    void fold(std::optional<Value>& result, const Value& value, std::uint32_t unit) const;
    void finish(Value& result, const Step& step) const;

    bool before_now(const Access& access) const {
        return access.time <= clocks_[lane_][access.lane];
    }
    const Value& read(Cell& cell, const Operand& operand);
    void write(Cell& cell, const Value& value, const Operand& operand);

    const Step& step() const { return schedule_.lanes[lane_].steps[step_]; }
    const StepFlags& step_flags() const { return uses_.steps[lane_][step_]; }

    const Schedule& schedule_;
    const FlagUses& uses_;
    const Shortcuts& shortcuts_;
    std::vector<std::vector<std::uint32_t>> lanes_of_;  ///< by rank
    RankSet everybody_;
    std::vector<Clock> clocks_;  ///< of each lane
    std::vector<SymbolicFlag> flags_;
    std::vector<std::vector<Cell>> slots_;  ///< of each channel
    SymbolicBuffers buffers_;
    std::uint32_t epoch_ = 0;  ///< chunks of all calls so far
    std::uint32_t calls_ = 0;
    // The present call.
    std::uint32_t chunks_ = 0;
    bool brief_ = false;
    // Where the execution is.
    std::uint32_t lane_ = 0;
    std::uint32_t step_ = 0;
    std::uint32_t chunk_ = 0;
};

}  // namespace rondo
