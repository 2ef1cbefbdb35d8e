// A case as calls of Rondo's public API: one call of all ranks, or one call per rank.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "bench/tool/buffers.hpp"
#include "rondo/communicator.hpp"

namespace rondo::bench {

/// What the calls of a case need besides its operands.
struct CallContext {
    Communicator communicator;
    std::vector<cudaStream_t> streams;  ///< of each rank
    Strategy strategy = {};
};

class RondoCalls {
public:
    virtual ~RondoCalls() = default;
    /// Enqueues the call of one rank.
    virtual Work call(int rank) = 0;
    /// Enqueues the calls of all ranks, from one thread.
    virtual void call_all() = 0;
    /// Waits for the last calls. Throws what went wrong.
    virtual void wait() = 0;
};

/// Throws Unsupported when the library has no such collective.
std::unique_ptr<RondoCalls> make_calls(const CallContext& context, const Buffers& buffers,
                                       const Case& test);

}  // namespace rondo::bench
