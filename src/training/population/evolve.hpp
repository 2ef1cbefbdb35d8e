// Who copies whom, and what becomes of the copied settings. Pure functions of a random sequence.
#pragma once

#include <span>
#include <vector>

#include "rondo/training/strategy.hpp"
#include "training/data/random.hpp"

namespace rondo::training {

/// A setting by chance.
double draw_setting(const Hyperparameter& hyperparameter, Random& random);

/// For each member the one whose parameters it goes on with: itself, or a better one. Lower scores
/// are better; of equal ones the first.
std::vector<std::uint32_t> exploit(const ExploitStrategy& strategy, std::span<const double> scores,
                                   Random& random);

/// What a member does with the settings that it copied.
std::vector<double> explore(const ExploreStrategy& strategy,
                            std::span<const Hyperparameter> hyperparameters,
                            std::span<const double> settings, Random& random);

}  // namespace rondo::training
