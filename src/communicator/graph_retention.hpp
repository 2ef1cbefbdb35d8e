// What a captured call needs as long as its graph lives.
#pragma once

#include <memory>
#include <vector>

#include "communicator/state.hpp"

namespace rondo::detail {

struct KeptByGraph {
    std::shared_ptr<CommunicatorState> state;  ///< first: it outlives the others
    std::vector<PlanUse> plans;
    std::uint32_t rank = 0;
    std::vector<std::uint32_t> calls;  ///< numbers in the rank's log
    std::vector<Arena::Range> pinned;
    std::vector<DeviceBuffer<std::byte>> staging;

    ~KeptByGraph() {
        for (const std::uint32_t call : calls) state->rank(rank).log.forget(call);
    }
};

/// Hands it to the graph that the stream is captured into.
void retain_in_graph(StreamRef stream, std::unique_ptr<KeptByGraph> kept);

/// Frees what graphs held, and no graph holds any more. The end of a graph may not call CUDA, so
/// somebody else must: whoever makes the next communicator.
void free_released_by_graphs();

}  // namespace rondo::detail
