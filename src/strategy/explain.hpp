// Why a plan was made, in words.
#pragma once

#include <string>

#include "strategy/planner.hpp"

namespace rondo {

/// The best against the runner-up, how much of the bound that is, and what is wrong with a ring
/// where it loses.
std::string explain_plan(const Planner& planner, const Request& request, const Plan& plan);

}  // namespace rondo
