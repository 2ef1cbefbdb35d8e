// A candidate that can be simulated at once, whatever it is compared with.
#pragma once

#include <memory>
#include <vector>

#include "strategy/planner.hpp"

namespace rondo {

struct Planner::Trial {
    Candidate candidate = {};
    std::shared_ptr<const Simulator> simulator = {};  ///< null where there is a problem
};

}  // namespace rondo
