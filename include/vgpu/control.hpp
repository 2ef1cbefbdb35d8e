// How tests control virtual GPUs: configuration, injected faults, reports, counters. Programs that
// only want to run without a GPU don't need it: they set VGPU_TOPOLOGY and call CUDA as ever.
//
//     vgpu::reset({.topology = "dgx1_v100", .seed = 7, .check = true});  // a machine for this test
//     vgpu::fail_call("cudaMalloc", 3, cudaErrorMemoryAllocation);       // the third one will fail
//     EXPECT_EQ(vgpu::take_report(), "");                                // no illegal access
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <driver_types.h>

#include "rondo/export.hpp"

namespace vgpu {

/// What runs the kernels of programs that nvcc compiled: host bodies that were registered under the
/// kernels' names, their PTX, or what there is, host bodies first.
enum class Engine { automatic, native, ptx };

/// What the virtual machine is like. A program starts with from_environment(), which reads
/// VGPU_TOPOLOGY (a count, a preset or a file; default "8"), VGPU_HOSTILE=1, VGPU_SEED=n,
/// VGPU_CHECK=1, VGPU_MEMORY (bytes per device, with K, M or G), VGPU_WORKERS, VGPU_ENGINE (auto,
/// native or ptx), VGPU_ARCHITECTURE (sm_90) and VGPU_REPORTS=1.
struct Options {
    std::string topology = "8";
    bool hostile = false;  ///< worst-case driver behaviour, see docs/vgpu.md
    std::optional<std::uint64_t> seed =
        {};              ///< random fiber schedules from this seed, one block at a time
    bool check = false;  ///< every access of a block is checked
    std::size_t memory_per_device = 0;  ///< 0: what the topology says, else 16 GiB
    int workers = -1;                   ///< -1: max(1, cores - 1)
    int resident_blocks = 0;  ///< blocks a device holds at once; 0: by its properties (hostile: 32)
    int hardware_queues =
        0;  ///< streams of a device share so many queues; 0: one each (hostile: 2)
    Engine engine = Engine::automatic;
    int architecture = 0;  ///< compute capability of all devices, 90 is 9.0; 0: the topology's
    bool print_reports = false;  ///< reports also go to stderr as they are made

    RONDO_API static Options from_environment();
};

/// Ends all work, frees all memory and starts again with these options. No other thread may be
/// inside the runtime meanwhile. If the topology can't be read it throws a std::exception that says
/// why, and nothing changes.
RONDO_API void reset(const Options& options);
/// reset() with the options in force.
RONDO_API void reset();
RONDO_API const Options& options();
/// What is wrong when the process has a second CUDA runtime that takes the calls; empty if all is
/// well. Also written to stderr when the program starts.
RONDO_API std::string other_runtime();

// ---- faults
/// The `kth` call from now (1 = the next) of the API function `name` ("cudaMalloc") returns `error`
/// and does nothing else.
RONDO_API void fail_call(std::string_view name, std::uint64_t kth, cudaError_t error);
/// The `kth` call from now of any API function that can fail returns `error`. 0 switches it off.
RONDO_API void fail_any_call(std::uint64_t kth, cudaError_t error);
/// The device falls off the bus: its blocks are killed, its work ends, every later call for it
/// returns cudaErrorDevicesUnavailable.
RONDO_API void lose_device(int device);
/// Peer accesses and copies between the two devices fail from now on, in both directions.
RONDO_API void cut_link(int device_a, int device_b);
/// Copies between the two devices take `factor` times as long.
RONDO_API void slow_link(int device_a, int device_b, double factor);

/// Which blocks a block fault hits: -1 matches any. `kernel` matches as a substring; empty matches
/// any.
struct BlockSelector {
    std::string kernel = {};
    int device = -1;
    int block = -1;  ///< linear block index
};
/// The block sleeps that long before it starts.
RONDO_API void delay_block(const BlockSelector& selector, std::chrono::microseconds delay);
/// The block ends silently at its `nth` wait or signal (0: before it starts), as if it had been
/// stopped for ever.
RONDO_API void kill_block(const BlockSelector& selector, std::uint64_t nth);
RONDO_API void clear_faults();

// ---- reports
/// The text of the last report (deadlock, illegal access ...), empty if none. Cleared by reset()
/// and take_report().
RONDO_API std::string last_report();
RONDO_API std::string take_report();
/// What every device and block does right now: running, or waiting for which flag of which device.
RONDO_API std::string describe_state();
/// Which API function failed last in this thread and why, in words. Empty if none.
RONDO_API std::string last_error_detail();

/// Numbers since the last reset().
struct Counters {
    std::uint64_t api_calls = 0;    ///< calls that can fail
    std::uint64_t allocations = 0;  ///< device, pinned, managed and pool memory
    std::uint64_t frees = 0;
    std::uint64_t launches = 0;
    std::uint64_t blocks = 0;
    std::uint64_t copies = 0;
    std::uint64_t worker_wakeups = 0;
    std::uint64_t live_allocations = 0;
    std::uint64_t live_streams = 0;
    std::uint64_t live_events = 0;
    std::uint64_t live_graphs = 0;
};
RONDO_API Counters counters();

/// Memory that was allocated and not freed.
struct LiveMemory {
    std::uint64_t allocations = 0;
    std::uint64_t bytes = 0;

    bool operator==(const LiveMemory&) const = default;
};
/// Of a device: from cudaMalloc, managed, and from pools.
RONDO_API LiveMemory live_memory(int device);
/// Of the host: pinned by cudaHostAlloc, and registered.
RONDO_API LiveMemory live_host_memory();

// ---- which calls are made
/// One call of the API.
struct RecordedCall {
    std::string name;
    int device = 0;  ///< current in its thread
    std::thread::id thread = {};
    bool launches = false;  ///< a kernel or a graph
    bool allocates = false;
    bool frees = false;
    bool may_synchronise = false;  ///< on some driver; in hostile mode it does, see docs/vgpu.md

    /// Whether it must not be made while kernels are in flight that wait for later launches.
    bool disturbs() const { return allocates || frees || may_synchronise; }
};
/// "cudaMalloc (device 0) allocates may synchronise"
RONDO_API std::string to_string(const RecordedCall& call);

/// Records the calls of all threads from now on. Survives reset().
RONDO_API void record_calls();
/// Ends the recording: the calls since record_calls() in the order in which they began.
RONDO_API std::vector<RecordedCall> recorded_calls();
/// Those behind the first launch, up to the last one, that disturbs(): none in a program that is
/// safe on every driver.
RONDO_API std::vector<RecordedCall> disturbing_calls_between_launches(
    const std::vector<RecordedCall>& calls);

}  // namespace vgpu
