// What CallOptions mean for a call.
#pragma once

#include "communicator/core.hpp"

namespace rondo::detail {

/// Throws InvalidArgument unless each list has one element per rank or none, and factors come with
/// premul_sum only.
void check_options(const CallOptions& options, std::size_t ranks, ReduceOp op);

/// The buffers of the rank at `index` of the call's lists.
RankBuffers buffers_of(const CallOptions& options, std::size_t index, const void* input,
                       void* output);

/// Takes over strategy and schedule, and completes the count. Throws InvalidArgument for a wrong
/// number of counts.
void apply(Call& call, const CallOptions& options, const Core& core);

}  // namespace rondo::detail
