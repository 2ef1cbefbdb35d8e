// One piece of issued work and its place in the order: it starts when everything it depends on has
// finished.
#pragma once

#include <atomic>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "vgpu/command.hpp"

namespace vgpu {

class Operation;
using OperationPtr = boost::intrusive_ptr<Operation>;

/// Streams, events, legacy-stream rules and graphs all become edges between operations; nothing
/// else orders work. Everything but `finished` is guarded by the scheduler's lock, the number of
/// references too: what is known to more than one may be copied and dropped under the lock only.
/// Locked instructions would cost a small collective a tenth of its time.
class Operation {
public:
    /// Without a command.
    static OperationPtr make() { return {new Operation, false}; }
    static OperationPtr make(int device, Command&& command) {
        OperationPtr operation = make();
        operation->command = std::move(command);
        operation->device = device;
        return operation;
    }

    /// A thread keeps the memory of those that it frees for those that it makes: a call of a
    /// collective makes as many as it has ranks, more than the allocator keeps at hand.
    static void* operator new(std::size_t bytes);
    static void operator delete(void* memory) noexcept;

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
    std::shared_ptr<void> workspace;  ///< what the launch's blocks share, if they need something

    bool done() const { return finished.load(std::memory_order_acquire); }

private:
    Operation() = default;
    friend void intrusive_ptr_add_ref(Operation* operation) noexcept { ++operation->references_; }
    friend void intrusive_ptr_release(Operation* operation) noexcept {
        if (--operation->references_ == 0) delete operation;
    }

    unsigned references_ = 1;  // its maker's
};

/// Memory of operations that are no more, for one thread.
class SpareOperations {
public:
    SpareOperations() = default;
    ~SpareOperations();
    SpareOperations(const SpareOperations&) = delete;
    SpareOperations& operator=(const SpareOperations&) = delete;

    void* take() noexcept;             ///< null when there is none
    bool keep(void* memory) noexcept;  ///< false when there are enough

private:
    struct Piece {
        Piece* next;
    };
    Piece* first_ = nullptr;
    unsigned count_ = 0;
};

}  // namespace vgpu
