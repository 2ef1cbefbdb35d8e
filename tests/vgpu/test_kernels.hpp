// The kernels of these tests: their arguments, and how to launch them. Each takes one struct by
// value.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

namespace test {

/// What a waiting kernel reports.
enum Outcome : std::uint32_t {
    outcome_none = 0,
    outcome_ready = 1,
    outcome_timed_out = 2,
    outcome_aborted = 3
};

/// A wait inside a kernel never lasts longer, so that a failing test ends.
inline constexpr std::uint64_t default_timeout_ns = 30'000'000'000;

/// *target = value, by block 0.
struct WriteValue {
    static constexpr const char* name = "write_value";
    std::uint32_t* target = nullptr;
    std::uint32_t value = 0;
};

/// *target = *target * factor + summand, by block 0. Different orders of different calls give
/// different results.
struct MultiplyAdd {
    static constexpr const char* name = "multiply_add";
    std::uint32_t* target = nullptr;
    std::uint32_t factor = 1;
    std::uint32_t summand = 0;
};

/// target[i] = source[i] + summand; each block takes a contiguous part.
struct CopyWords {
    static constexpr const char* name = "copy_words";
    std::uint32_t* target = nullptr;
    const std::uint32_t* source = nullptr;
    std::size_t count = 0;
    std::uint32_t summand = 0;
};

/// visits[linear block index] += 1 + x + 100 y + 10000 z of the block's index.
struct VisitBlocks {
    static constexpr const char* name = "visit_blocks";
    std::uint32_t* visits = nullptr;
};

/// Signals `started` (when not null), waits for *flag, then writes the outcome and, if that is
/// `ready`, *target = value.
struct AwaitFlag {
    static constexpr const char* name = "await_flag";
    std::uint32_t* started = nullptr;
    const std::uint32_t* flag = nullptr;
    std::uint32_t wanted = 1;
    std::uint32_t* outcome = nullptr;
    std::uint64_t timeout_ns = default_timeout_ns;  ///< 0: none
    const std::uint32_t* abort = nullptr;
    std::uint32_t* target = nullptr;
    std::uint32_t value = 0;
};

/// *flag = value with release order at system scope.
struct SignalFlag {
    static constexpr const char* name = "signal_flag";
    std::uint32_t* flag = nullptr;
    std::uint32_t value = 1;
};

/// Signals *theirs, then waits for *mine.
struct Meet {
    static constexpr const char* name = "meet";
    std::uint32_t* theirs = nullptr;
    const std::uint32_t* mine = nullptr;
    std::uint32_t* outcome = nullptr;
    std::uint64_t timeout_ns = default_timeout_ns;
};

/// A barrier over the grid: block b > 0 sets flags[b] and waits for flags[block count], which block
/// 0 sets when it has seen all of them; outcomes[b] says how that ended. Needs one flag more than
/// blocks.
struct GridBarrier {
    static constexpr const char* name = "grid_barrier";
    std::uint32_t* flags = nullptr;
    std::uint32_t* outcomes = nullptr;
    std::uint64_t timeout_ns = default_timeout_ns;
};

/// Block b passes a token around a ring of devices: waits for mine[b] >= round, then next[b] =
/// round (the device that starts signals first: next[b] = round, then waits).
struct RingStep {
    static constexpr const char* name = "ring_step";
    const std::uint32_t* mine = nullptr;
    std::uint32_t* next = nullptr;
    std::uint32_t rounds = 1;
    std::uint32_t starts = 0;
    std::uint32_t* outcomes = nullptr;
    std::uint64_t timeout_ns = default_timeout_ns;
};

/// Appends `id` to a log: log[(*cursor)++] = id, by block 0. Calls must be ordered by their
/// streams.
struct AppendToLog {
    static constexpr const char* name = "append_to_log";
    std::uint32_t* cursor = nullptr;
    std::uint32_t* log = nullptr;
    std::uint32_t id = 0;
};

/// Every block takes a ticket from *cursor (one block at a time runs under a random schedule) and
/// writes order[ticket] = its index. Shows the order in which blocks ran.
struct TakeTicket {
    static constexpr const char* name = "take_ticket";
    std::uint32_t* cursor = nullptr;
    std::uint32_t* order = nullptr;
    std::uint32_t rounds = 1;
};

/// Fills the block's dynamic shared memory with words, then writes their sum to *target.
struct UseSharedMemory {
    static constexpr const char* name = "use_shared_memory";
    std::uint32_t* target = nullptr;
    std::uint32_t words = 0;
};

/// A device-side assertion that fails.
struct FailAssertion {
    static constexpr const char* name = "fail_assertion";
    std::uint32_t unused = 0;
};

/// A 16-byte load at `address`, its words summed into *target.
struct LoadPack {
    static constexpr const char* name = "load_pack";
    std::uint32_t* target = nullptr;
    const void* address = nullptr;
};

/// The address that stands for the kernel in the CUDA API.
template <class Arguments>
const void* kernel();

/// A kernel of four arguments of different size: *target = first + second + third.
const void* sum_arguments_kernel();

/// A kernel that was compiled for at most 64 threads a block; takes WriteValue.
const void* small_block_kernel();

/// Loads every kernel on the current device, so that no first launch has to (lazy loading may
/// synchronise).
cudaError_t load_all_kernels();

struct Shape {
    dim3 grid{1};
    dim3 block{1};
    std::size_t shared_bytes = 0;
};

template <class Arguments>
cudaError_t launch(const Arguments& arguments, cudaStream_t stream, Shape shape = {}) {
    Arguments copy = arguments;
    void* pointers[] = {&copy};
    return cudaLaunchKernel(kernel<Arguments>(), shape.grid, shape.block, pointers,
                            shape.shared_bytes, stream);
}

}  // namespace test
