// NCCL, or a library with its interface, in this process: loaded when it is asked for.
#pragma once

#include <memory>
#include <string>

#include "bench/tool/contestant.hpp"

namespace rondo::bench {

/// Loads `file` ("libnccl.so.2") and makes communicators for the buffers' devices. Throws
/// Unsupported that tells what is missing, rondo::Error when the library refuses. The library must
/// run on the CUDA runtime of this process: on virtual GPUs NVIDIA's own does not.
std::unique_ptr<Contestant> make_nccl(const std::string& name, const std::string& file,
                                      const Buffers& buffers);

}  // namespace rondo::bench
