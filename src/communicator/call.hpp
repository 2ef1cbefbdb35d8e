// One call as the library sees it: what all ranks agree on, and what one rank brings.
#pragma once

#include <cstdint>
#include <string>

#include "rondo/communicator.hpp"

namespace rondo::detail {

/// Elements of a rank's buffers in a call.
std::uint64_t input_count(const Call& call, std::uint32_t ranks, std::uint32_t rank);
std::uint64_t output_count(const Call& call, std::uint32_t ranks, std::uint32_t rank);

/// Parts differ in length.
inline bool is_uneven(const Call& call) {
    return !call.counts.empty();
}

/// A rank knows only its own parts: ranks that pass on those of others don't know their lengths.
inline bool has_uneven_pairs(const Call& call) {
    return is_uneven(call) && call.collective == Collective::all_to_all;
}

/// Elements of the largest part that the rank may meet.
std::uint64_t largest_part(const Call& call, std::uint32_t ranks);

/// A number of all that the ranks must agree on; `plan` is that of their plan. Different calls have
/// different numbers, but for one chance in 2^64.
std::uint64_t digest_of(const Call& call, std::uint64_t plan, std::span<const Segment> segments);

/// all_to_all with different lengths: what the rank sends less what it expects, so that those of
/// all ranks add up to 0 when every pair agrees, but for one chance in 2^64.
std::uint64_t balance_of(const Call& call, std::uint32_t rank);

/// "all_gather of 24 x f32 (8 8 4 4), by ring". Long lists are cut.
std::string describe(const Call& call);

}  // namespace rondo::detail
