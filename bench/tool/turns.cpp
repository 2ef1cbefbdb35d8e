// Contestants take turns on one case, so that whatever else the machine does meets all of them.
#include "bench/tool/turns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "rondo/error.hpp"

namespace rondo::bench {
namespace {

constexpr int most_iterations = 20000;
constexpr double slow_call = 0.25;  ///< seconds; such a call needs no warm-up

int iterations_of(const Turns& turns, double seconds, const TurnOptions& options) {
    const double timed = std::ceil(options.turn_seconds / std::max(seconds, 1e-9));
    const int share = (options.iterations + options.rounds - 1) / options.rounds;
    if (turns.pace == Pace::limited) {
        const double allowed = std::ceil(4 * options.turn_seconds / std::max(seconds, 1e-9));
        return static_cast<int>(std::clamp(std::max<double>(share, timed), 1.0,
                                           std::min<double>(allowed, most_iterations)));
    }
    return static_cast<int>(std::clamp(timed, static_cast<double>(share),
                                       static_cast<double>(std::max(share, most_iterations))));
}

template <class Body>
void guarded(Turns& turns, Body body) {
    if (!turns.problem.empty()) return;
    try {
        body();
        return;
    } catch (const Unsupported& error) {
        turns.problem = error.what();
    } catch (const std::exception& error) {
        turns.problem = error.what();
        turns.lost = true;
    }
    turns.us.clear();
}

}  // namespace

void take_turns(std::vector<Turns>& all, const Case& test, const TurnOptions& options,
                const std::function<void(const std::string&)>& progress) {
    for (Turns& turns : all) {
        progress(fmt::format("{}: getting ready", turns.contestant->name()));
        guarded(turns, [&] {
            turns.contestant->begin(test);
            double seconds = turns.contestant->run(0, 1);
            if (seconds < slow_call) seconds = turns.contestant->run(1, 2);
            turns.iterations = iterations_of(turns, seconds, options);
        });
    }
    for (int round = 0; round < options.rounds; ++round) {
        for (std::size_t turn = 0; turn < all.size(); ++turn) {
            // Somebody else begins each time.
            Turns& turns = all[(turn + static_cast<std::size_t>(round)) % all.size()];
            progress(fmt::format("round {}/{}: {}", round + 1, options.rounds,
                                 turns.contestant->name()));
            guarded(turns, [&] {
                const bool slow = !turns.us.empty() && turns.us.back() > 1e6 * slow_call;
                turns.us.push_back(
                    1e6 * turns.contestant->run(slow ? 0 : options.warm_up, turns.iterations));
            });
        }
    }
}

}  // namespace rondo::bench
