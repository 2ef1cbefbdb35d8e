// The state of one virtual GPU.
#pragma once

#include <driver_types.h>

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "vgpu/memory.hpp"
#include "vgpu/operation.hpp"
#include "vgpu/stream.hpp"

namespace vgpu {

struct Device {
    int index = 0;
    cudaDeviceProp properties{};
    unsigned flags = 0;

    std::size_t memory_limit = 0;
    std::atomic<std::size_t> memory_used{0};
    MemoryPool default_pool;
    MemoryPool* pool = nullptr;

    /// An error that poisons the context: every later call for this device returns it.
    std::atomic<cudaError_t> sticky_error{cudaSuccess};
    std::atomic<bool> lost{false};

    std::vector<std::atomic<char>> peer_enabled;  ///< per device: may kernels here touch its memory
    Stream legacy_stream;
    std::vector<Stream*> streams;  ///< all others, guarded by the scheduler's lock

    std::vector<OperationPtr> detached;  ///< last operations of destroyed streams

    // Places for blocks, guarded by the scheduler's lock.
    std::size_t max_resident_blocks = 0;
    std::size_t max_resident_threads = 0;
    std::size_t resident_blocks = 0;
    std::size_t resident_threads = 0;
    std::deque<OperationPtr> launches;  ///< kernels with blocks that have no place yet, in order
    std::vector<OperationPtr> queue_tails;  ///< last operation of each hardware queue
    int next_queue = 0;
    std::vector<bool> loaded_kernels;  ///< by number

    bool has_place(std::size_t blocks, std::size_t threads_each) const {
        return resident_blocks + blocks <= max_resident_blocks &&
               resident_threads + blocks * threads_each <= max_resident_threads;
    }
};

}  // namespace vgpu
