// How a kernel is started: the only place that knows.
#pragma once

#include <source_location>

#include "cuda/stream.hpp"
#include "kernels/kernels.hpp"
#include "kernels/platform.hpp"

namespace rondo::kernels {

struct LaunchOptions {
    unsigned blocks = 1;
    unsigned threads = max_block_threads;  ///< per block, at most max_block_threads
    /// All blocks are resident at once, or the launch fails: needed where blocks wait for each
    /// other.
    bool cooperative = false;
};

/// What launch() does with the types taken off. Throws CudaError that names the kernel.
void launch_entry(const void* entry, const char* name, void* arguments, StreamRef stream,
                  const LaunchOptions& options, const std::source_location& where);

/// Enqueues the kernel; the arguments are copied before it returns. What they point to must live
/// until the kernel ends.
template <class Arguments>
void launch(const Kernel<Arguments>& kernel, const Arguments& arguments, StreamRef stream,
            const LaunchOptions& options = {},
            const std::source_location& where = std::source_location::current()) {
    launch_entry(kernel.entry, kernel.name, const_cast<Arguments*>(&arguments), stream, options,
                 where);
}

}  // namespace rondo::kernels
