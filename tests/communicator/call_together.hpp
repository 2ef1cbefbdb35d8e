// The same call as all ranks make by their handles, made once by the communicator.
#pragma once

#include <cstddef>
#include <vector>

#include "rondo/communicator.hpp"

namespace rondo::test {

/// One rank's memory in a call.
struct CallMemory {
    std::byte* input = nullptr;
    std::byte* output = nullptr;
    std::uint64_t input_count = 0;
    std::uint64_t output_count = 0;
};

/// What the ranks agree about.
struct CallTogether {
    Collective collective = Collective::all_reduce;
    ElementType type = ElementType::f32;
    ReduceOp op = ReduceOp::sum;
    std::uint32_t root = 0;
    /// all_to_all with parts of different lengths: from * ranks + to. Else empty.
    std::vector<std::uint64_t> pair_counts = {};
};

/// Results that the call would put into new memory are in `memory` when it returns.
Work call_together(Communicator& communicator, const CallTogether& call,
                   const std::vector<CallMemory>& memory, const CallOptions& options);

}  // namespace rondo::test
