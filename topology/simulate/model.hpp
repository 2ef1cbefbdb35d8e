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
    std::uint32_t kind = 0;
    std::uint32_t first_wait = 0;    ///< those of the next step follow
    std::uint32_t first_signal = 0;  ///< the same
};

/// What steps from the same memories to the same memories by the same rank have in common.
struct StepKind {
    bool moves = false;        ///< false: it only waits and signals
    double read_seconds = 0;   ///< until the first byte of a peer's memory is here
    double fence_seconds = 0;  ///< from the last byte to the flags
};

struct ModelFlag {
    std::uint32_t per_chunk = 0;
    std::uint32_t waiter = 0;  ///< lane
    double seconds = 0;        ///< from its writing until the waiter sees it
};

struct Model {
    /// Lane after lane; one more at the end, for its first_wait and first_signal.
    std::vector<ModelStep> steps = {};
    std::vector<std::uint32_t> first_step = {};  ///< of each lane, and the end
    std::vector<ModelWait> waits = {};
    std::vector<std::uint32_t> signals = {};  ///< flags
    std::vector<StepKind> kinds = {};
    std::vector<Demand> demands = {};  ///< of each kind
    std::vector<ModelFlag> flags = {};
    /// Links first, as the topology numbers them, then the memory of each rank.
    std::vector<double> capacities = {};
    double entry_seconds = 0;  ///< from the call to the first step

    std::size_t lanes() const { return first_step.size() - 1; }
};

/// Throws InvalidArgument when nothing joins two ranks that exchange data.
Model make_model(const Schedule& schedule, const Routing& routing);

}  // namespace rondo::simulation
