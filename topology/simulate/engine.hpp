// Runs a model chunk by chunk.
#pragma once

#include <vector>

#include "topology/simulate/model.hpp"
#include "topology/simulate/simulate.hpp"

namespace rondo::simulation {

struct EngineOptions {
    std::uint32_t chunks = 1;
    std::uint32_t groups = 1;  ///< of replicas; each runs all lanes
    double widening = 1;       ///< how many replicas' blocks a group's lane stands for
    double coarseness = 0;
    bool timeline = false;
    /// The run is given up once it is known that all chunks would take longer than this, which are
    /// `all_chunks`: see extrapolated_seconds().
    double most_seconds = 1e300;
    double all_chunks = 1;
};

struct EngineResult {
    std::vector<double> chunk_ends = {};  ///< seconds: all lanes have ended the chunk
    std::vector<StepTime> steps = {};
    bool stuck = false;    ///< some lanes wait for what never comes
    bool gave_up = false;  ///< then the others are those of a part
    double at_least = 0;   ///< seconds, when it gave up
};

/// The time of all chunks by that of the first ones: those in the middle show how fast the full
/// pipeline is. `chunks` need not be a whole number; equal to what ran: their end.
double extrapolated_seconds(const std::vector<double>& chunk_ends, double chunks);

/// Bytes of each unit in each chunk of each group: units * chunks * groups numbers, by group, then
/// by chunk.
EngineResult run_engine(const Model& model, const EngineOptions& options,
                        const std::vector<double>& chunk_bytes);

}  // namespace rondo::simulation
