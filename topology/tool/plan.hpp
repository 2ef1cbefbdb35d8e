// What rondo-topo plan finds out, before it is printed as a table or as JSON.
#pragma once

#include <string>
#include <vector>

#include "strategy/planner.hpp"

namespace rondo::tool {

struct PlanReport {
    std::string topology;
    std::vector<int> gpus;
    std::string links;
    std::string model;
    Task task;
    double bound = 0;  ///< bytes per second; 0: nothing limits it
    Choice choice;

    double algbw(const Candidate& candidate) const {
        return static_cast<double>(task.bytes) / candidate.seconds;
    }
};

std::string plan_json(const PlanReport& report);

}  // namespace rondo::tool
