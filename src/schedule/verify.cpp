// Which calls a proof runs, and how much work it takes on.
#include "schedule/verify.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "schedule/rates.hpp"
#include "schedule/symbolic_run.hpp"

namespace rondo {
namespace {

struct CallKind {
    std::uint32_t chunks = 0;
    bool brief = false;
};

/// Enough chunks that every channel goes around its slots, and lanes with a stride leave some out.
std::uint32_t chunks_to_run(const Schedule& schedule, const FlagUses& uses) {
    std::uint32_t chunks = 3;
    for (std::size_t i = 0; i < schedule.channels.size(); ++i) {
        const std::uint32_t rate = std::max(uses.per_chunk[2 * i], 1u);
        chunks = std::max(chunks, (schedule.channels[i].depth + rate) / rate + 1);
    }
    return chunks;
}

/// Every order in which calls of several chunks, of one and of none may follow each other, as far
/// as it makes a difference: flags and slots are as the last few calls have left them. A call of
/// one chunk behind one of at most one is brief, or not (the first, and one in 65536).
std::vector<CallKind> calls_to_run(const Schedule& schedule, const FlagUses& uses) {
    const CallKind many{chunks_to_run(schedule, uses), false};
    const CallKind one{1, false};
    const CallKind brief{1, true};
    const CallKind none{0, false};
    std::uint32_t deepest = 1;
    for (const Channel& channel : schedule.channels) deepest = std::max(deepest, channel.depth);
    std::vector<CallKind> calls{many, many, one};
    // Around all slots.
    calls.insert(calls.end(), deepest + 1, brief);
    calls.insert(calls.end(), {many, none, brief, one, brief});
    return calls;
}

/// Entries of clocks that are looked at, more or less; two thousand million take about a second.
double work_of(const Schedule& schedule, const FlagUses& uses, const std::vector<CallKind>& calls) {
    const auto lanes = static_cast<double>(schedule.lanes.size());
    const auto places = 2.0 * schedule.ranks * static_cast<double>(schedule.unit_shares.size());
    double per_chunk = 0;
    for (const Lane& lane : schedule.lanes) {
        for (const Step& step : lane.steps) {
            const std::size_t operands = step.sources.size() + step.destinations.size();
            const std::size_t flags = 2 * operands + step.waits.size() + step.signals.size();
            per_chunk += 20.0 * static_cast<double>(operands + 1) +
                         static_cast<double>(flags) * (lanes + 20);
        }
    }
    // Cells that exist: in all_to_all, a unit is at two ranks only.
    const bool paired = schedule.collective == Collective::all_to_all;
    const double cells = paired ? 2.0 * static_cast<double>(schedule.unit_shares.size()) : places;
    double work = places;
    for (const CallKind& call : calls) {
        work += call.chunks * (per_chunk + 20 * cells) + 2 * lanes * lanes + 5 * places +
                static_cast<double>(uses.per_chunk.size());
    }
    for (const Channel& channel : schedule.channels) work += 20.0 * channel.depth;
    return work;
}

constexpr double most_work = 4e9;

}  // namespace

Verification verify(const Schedule& schedule, const Shortcuts& shortcuts) {
    if (std::string uneven = find_uneven_rate(schedule); !uneven.empty()) {
        return {std::move(uneven)};
    }
    const FlagUses uses = flag_uses(schedule, shortcuts.brief);
    const std::vector<CallKind> calls = calls_to_run(schedule, uses);
    if (const double work = work_of(schedule, uses, calls); work > most_work) {
        return {fmt::format("it is too large to be proved, {:.0f} times as large as it may be",
                            std::ceil(work / most_work))};
    }
    for (const bool in_place : {false, true}) {
        // In place, an all_to_all would overwrite what it has not read yet.
        if (in_place && schedule.collective == Collective::all_to_all) continue;
        SymbolicRun run(schedule, uses, shortcuts, in_place, calls.front().chunks);
        for (const auto& [chunks, brief] : calls) {
            try {
                run.call(chunks, brief);
            } catch (const ScheduleProblem& problem) {
                return {fmt::format("{}{}{}", problem.text, in_place ? " (in place)" : "",
                                    brief ? " (in a brief call)" : "")};
            }
        }
    }
    return {};
}

Verification verify(const Schedule& schedule) {
    validate(schedule);
    return verify(schedule, shortcuts_of(schedule));
}

void require_verified(const Schedule& schedule) {
    const Verification verification = verify(schedule);
    if (!verification) {
        throw InvalidArgument(
            fmt::format("the schedule '{}' is wrong: {}", schedule.name, verification.problem));
    }
}

}  // namespace rondo
