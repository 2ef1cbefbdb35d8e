// A member between generations, and how it lives through one.
#pragma once

#include "training/engine/trainee.hpp"

namespace rondo::training {

struct Member {
    std::vector<float> parameters;
    OptimizerState optimizer;
    std::vector<double> settings;
};

/// One generation of one member: member, generation and seed fix the order of the samples.
struct Generation {
    std::uint64_t number = 0;
    std::uint32_t slot = 0;  ///< the member's place in the population
    std::span<const std::string> hyperparameters;
    std::span<const std::size_t> samples;
    const TrainingOptions* options = nullptr;
};

/// Trains and changes the member; returns the mean loss of the last epoch.
double live(Trainee& trainee, Member& member, const Generation& generation);

}  // namespace rondo::training
