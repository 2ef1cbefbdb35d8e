// A schedule as the simulator runs it: what each step asks of the machine, waits for and signals.
#pragma once

#include <cstdint>
#include <vector>

#include "rondo/schedule.hpp"
#include "topology/simulate/routes.hpp"
#include "topology/simulate/sharing.hpp"

namespace rondo::simulation {

struct ModelWait {
    std::uint32_t flag = 0;
    std::int64_t offset = 0;  ///< of the value at chunk 0; may be below 0: a free slot
};

struct ModelStep {
    std::uint32_t unit = 0;
    bool moves = false;  ///< false: it only waits and signals
    Demand demand = {};
    double read_seconds = 0;   ///< until the first byte of a peer's memory is here
    double fence_seconds = 0;  ///< from the last byte to the flags
    std::vector<ModelWait> waits = {};
    std::vector<std::uint32_t> signals = {};
};

struct ModelFlag {
    std::uint32_t per_chunk = 0;
    std::uint32_t waiter = 0;  ///< lane
    double seconds = 0;        ///< from its writing until the waiter sees it
};

struct Model {
    std::vector<std::vector<ModelStep>> lanes = {};
    std::vector<ModelFlag> flags = {};
    /// Links first, as the topology numbers them, then the memory of each rank.
    std::vector<double> capacities = {};
    double entry_seconds = 0;  ///< from the call to the first step
};

/// Throws InvalidArgument when nothing joins two ranks that exchange data.
Model make_model(const Schedule& schedule, const Routing& routing);

}  // namespace rondo::simulation
