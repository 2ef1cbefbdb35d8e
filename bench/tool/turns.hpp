// Contestants take turns on one case, so that whatever else the machine does meets all of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/tool/contestant.hpp"
#include "bench/tool/statistics.hpp"

namespace rondo::bench {

struct TurnOptions {
    int rounds = 7;
    int iterations = 20;         ///< of all rounds together, at least
    int warm_up = 1;             ///< before each turn
    double turn_seconds = 5e-3;  ///< a turn lasts at least that long
};

/// How often a contestant runs in a turn.
enum class Pace {
    full,     ///< at least its share of the iterations
    limited,  ///< no more than the turn's time allows: peers may be a thousand times slower
};

struct Turns {
    Contestant* contestant = nullptr;
    Pace pace = Pace::full;
    std::vector<double> us = {};  ///< one per round
    int iterations = 0;           ///< per round
    std::string problem = {};     ///< it took no further part
    bool lost = false;            ///< not only for this case
};

/// Begins the case with each contestant and lets them take turns. What a contestant throws becomes
/// its problem; the others go on. `progress` is called before each turn.
void take_turns(std::vector<Turns>& all, const Case& test, const TurnOptions& options,
                const std::function<void(const std::string&)>& progress);

}  // namespace rondo::bench
