// What CUDA keeps per host thread.
#pragma once

#include <driver_types.h>

#include <memory>
#include <string>
#include <vector>

#include "vgpu/call_count.hpp"
#include "vgpu/stream.hpp"

namespace vgpu {

class Executor;

struct ThreadState {
    int device = 0;
    cudaError_t last_error = cudaSuccess;
    std::string error_detail;
    cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;
    bool in_host_function = false;
    bool per_thread_default = false;       ///< the handle 0 means the thread's own stream
    bool in_driver = false;                ///< inside a call of the driver API
    bool runtime_used = false;             ///< the thread has called the runtime API
    std::uint64_t machine_generation = 0;  ///< which machine the streams below belong to
    std::vector<std::unique_ptr<Stream>> default_streams;  ///< cudaStreamPerThread, by device

    CallCount calls;
    SpareOperations spare_operations;
    Executor* executor = nullptr;  ///< with which the thread helps
    std::uint64_t executor_generation = 0;

    ~ThreadState();
};

namespace detail {
extern constinit thread_local ThreadState*
    known_thread;  // null before the thread is first met, and at its end
ThreadState& meet_thread();
}  // namespace detail

/// For host threads only: a fiber may wake on another thread.
inline ThreadState& this_thread() {
    ThreadState* const known = detail::known_thread;
    return known != nullptr ? *known : detail::meet_thread();
}
/// The calling thread runs host functions, which may not call the runtime.
void mark_host_function_thread();

}  // namespace vgpu
