// Streams and events: handles that name a point in the order of operations.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "vgpu/operation.hpp"

namespace vgpu {

struct Capture;
struct GraphNode;

struct Stream {
    int device = 0;
    unsigned flags = 0;
    int priority = 0;
    std::uint64_t id = 0;
    bool legacy = false;
    int hardware_queue = -1;           ///< -1: its own
    OperationPtr tail;                 ///< last issued operation; null when nothing was issued
    std::shared_ptr<Capture> capture;  ///< set while this stream is part of a capture
    std::vector<GraphNode*> capture_tail;

    bool idle() const { return !tail || tail->done(); }
    /// Takes part in the implicit order with the legacy default stream.
    bool blocking() const { return !legacy && (flags & cudaStreamNonBlocking) == 0; }
};

struct Event {
    int device = 0;
    unsigned flags = 0;
    OperationPtr recorded;             ///< null until recorded
    std::shared_ptr<Capture> capture;  ///< set when recorded in a capture
    std::vector<GraphNode*> captured_after;

    bool timing() const { return (flags & cudaEventDisableTiming) == 0; }
};

}  // namespace vgpu
