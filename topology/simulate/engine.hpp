// Runs a model chunk by chunk.
#pragma once

#include <vector>

#include "topology/simulate/model.hpp"
#include "topology/simulate/simulate.hpp"

namespace rondo::simulation {

struct EngineOptions {
    std::uint32_t chunks = 1;
    double coarseness = 0;
    bool timeline = false;
};

struct EngineResult {
    std::vector<double> chunk_ends = {};  ///< seconds: all lanes have ended the chunk
    std::vector<StepTime> steps = {};
    bool stuck = false;  ///< some lanes wait for what never comes
};

/// Bytes of each unit in each chunk: units * chunks numbers, by chunk.
EngineResult run_engine(const Model& model, const EngineOptions& options,
                        const std::vector<double>& chunk_bytes);

}  // namespace rondo::simulation
