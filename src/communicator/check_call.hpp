// What is wrong with a call, found before anything is enqueued: a call that is refused leaves the
// communicator as it was.
#pragma once

#include <span>

#include "communicator/state.hpp"

namespace rondo::detail {

/// Throws InvalidArgument unless each list has one element per rank or none, and factors come with
/// premul_sum only.
void check_options(const CallOptions& options, std::size_t ranks, ReduceOp op);

/// The buffers of the rank at `index` of the call's lists.
RankBuffers buffers_of(const CallOptions& options, std::size_t index, const void* input,
                       void* output);

/// Takes over strategy and schedule, and completes the count. Throws InvalidArgument for a wrong
/// number of counts and for more elements than memory can hold.
void apply(Call& call, const CallOptions& options, const CommunicatorState& state);

/// Everything that can be wrong with a call, whoever makes it.
void check_call(const Call& call, const CommunicatorState& state);

/// What one rank brings: streams, factors, memory and lengths.
void check_buffers(const Call& call, std::uint32_t rank, const RankBuffers& buffers,
                   CommunicatorState& state);

/// A buffer of one rank, for check_memory().
struct CheckedMemory {
    const char* name;  ///< "input"
    const void* data;
    std::uint64_t bytes;
    std::uint64_t element;
};
void check_memory(const CheckedMemory& buffer, std::uint32_t rank, DeviceId device);
void check_stream(cudaStream_t stream, std::uint32_t rank, DeviceId device);

}  // namespace rondo::detail
