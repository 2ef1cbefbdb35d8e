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
    Request request;
    std::uint64_t bytes = 0;  ///< as it was asked for: of an all_to_all what each GPU sends
    double bound = 0;         ///< of these bytes, per second; 0: nothing limits it
    Plan plan;

    double algbw(const PlanCandidate& candidate) const {
        return static_cast<double>(bytes) / candidate.seconds;
    }
};

std::string plan_json(const PlanReport& report);

}  // namespace rondo::tool
