// One piece of issued work and its place in the order: it starts when everything it depends on has
// finished.
#pragma once

#include <atomic>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <cstdint>
#include <utility>
#include <vector>

#include "vgpu/command.hpp"

namespace vgpu {

class Operation;
using OperationPtr = boost::intrusive_ptr<Operation>;

/// Streams, events, legacy-stream rules and graphs all become edges between operations; nothing
/// else orders work. Everything but `finished` is guarded by the scheduler's lock.
class Operation : public boost::intrusive_ref_counter<Operation> {
public:
    Operation(int device_index, Command&& what) : command(std::move(what)), device(device_index) {}

    Command command;
    int device = 0;
    int priority = 0;    ///< lower is more urgent, as in CUDA
    unsigned unmet = 0;  ///< edges that still hold it back
    bool started = false;
    std::atomic<bool> finished{false};
    cudaError_t error = cudaSuccess;
    std::uint64_t finished_ns = 0;           ///< kept for markers, which events are
    std::vector<OperationPtr> after_finish;  ///< may go on when this has finished
    std::vector<OperationPtr> after_start;   ///< may go on when this has started (hardware queues)

    // Kernels only.
    std::uint64_t launch_number = 0;
    std::size_t dispatched_blocks = 0;
    std::size_t finished_blocks = 0;

    bool done() const { return finished.load(std::memory_order_acquire); }
};

}  // namespace vgpu
