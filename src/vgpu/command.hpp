// What can be put on a stream, as plain values: an operation carries one, a graph node keeps one to
// issue it again.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "vgpu/kernel.hpp"

namespace vgpu {

struct Event;
struct UserObject;

/// Objects of the user's and how many references to each.
using ObjectReferences = std::vector<std::pair<UserObject*, unsigned>>;

/// A kernel known to the runtime; lives for ever once registered.
struct Kernel {
    const void* entry = nullptr;
    std::size_t number = 0;  ///< in the order of registration
    KernelDescription description;
    int max_dynamic_shared_bytes = 48 * 1024;
};

/// Copies of the arguments of a launch, one behind the other, each aligned to 16 bytes. Small ones
/// need no allocation.
class ArgumentBuffer {
public:
    void assign(const KernelDescription& description, void** arguments);

    /// Calls description.run with pointers to the copies.
    void run(const KernelDescription& description) {
        if (description.argument_count == 1) {  // inline, see Fiber
            void* only = bytes();
            description.run(&only);
        } else {
            run_with_many(description);
        }
    }

private:
    static constexpr std::size_t inline_bytes = 256;

    void run_with_many(const KernelDescription& description);
    std::byte* bytes() { return size_ <= inline_bytes ? small_ : large_.data(); }

    alignas(16) std::byte small_[inline_bytes];
    std::vector<std::byte> large_;
    std::size_t size_ = 0;
};

struct KernelCommand {
    KernelCommand() {}  // not the compiler's: that would set all bytes of the arguments to 0

    const Kernel* kernel = nullptr;
    dim3 grid;
    dim3 block;
    std::size_t dynamic_shared_bytes = 0;
    bool cooperative = false;
    ArgumentBuffer arguments;

    std::size_t blocks() const { return std::size_t{grid.x} * grid.y * grid.z; }
    unsigned threads_per_block() const { return block.x * block.y * block.z; }
};

/// A copy of `height` x `depth` rows of `width` bytes; a plain copy has one row. Devices are -1 for
/// host memory.
struct CopyCommand {
    std::byte* destination = nullptr;
    const std::byte* source = nullptr;
    std::size_t width = 0;
    std::size_t height = 1;
    std::size_t depth = 1;
    std::size_t destination_pitch = 0, destination_slice = 0;
    std::size_t source_pitch = 0, source_slice = 0;
    int destination_device = -1;
    int source_device = -1;
};

struct MemsetCommand {
    std::byte* destination = nullptr;
    std::size_t pitch = 0, slice = 0;
    unsigned value = 0;
    std::size_t element_bytes = 1;
    std::size_t width = 0;  ///< elements
    std::size_t height = 1, depth = 1;
};

struct HostFunctionCommand {
    cudaHostFn_t function = nullptr;
    cudaStreamCallback_t callback = nullptr;  ///< the older form, told about errors
    cudaStream_t stream = nullptr;
    void* user_data = nullptr;
};

/// Nothing but a point in the order; the end of a graph, a wait, a recorded event.
struct MarkerCommand {};

/// A node of a graph that records or waits for an event when the graph is launched.
struct EventCommand {
    std::shared_ptr<Event> event;
    bool record = false;
};

/// Returns stream-ordered memory to its pool.
struct FreeCommand {
    void* pointer = nullptr;
};

/// Drops references that an executable graph held.
struct ReleaseCommand {
    ObjectReferences references;
};

using Command = std::variant<MarkerCommand, KernelCommand, CopyCommand, MemsetCommand,
                             HostFunctionCommand, EventCommand, FreeCommand, ReleaseCommand>;

/// Moves the bytes; the caller has checked the command.
void execute_copy(const CopyCommand& command);
void execute_memset(const MemsetCommand& command);

}  // namespace vgpu
