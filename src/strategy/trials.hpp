// Candidates that can be simulated at once, and what of them serves other sizes too.
#pragma once

#include <memory>
#include <vector>

#include "strategy/planner.hpp"

namespace rondo {

/// What a schedule depends on.
struct Planner::PieceKey {
    Strategy strategy = {};
    Task task = {};        ///< without its size
    Cutting cutting = {};  ///< without slots

    bool operator==(const PieceKey&) const = default;
};

/// A schedule that is ready to be simulated. Ways to cut that make no difference share one.
struct Planner::Piece {
    PieceKey key = {};
    Schedule schedule = {};
    std::shared_ptr<const Simulator> simulator = {};  ///< null where there is a problem
    std::string problem = {};
};

struct Planner::Trial {
    Candidate candidate = {};
    std::shared_ptr<const Simulator> simulator = {};  ///< null where there is a problem
};

}  // namespace rondo
