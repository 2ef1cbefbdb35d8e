// What a caller wants, as far as a plan depends on it.
#pragma once

#include <cstdint>
#include <vector>

#include "rondo/schedule.hpp"
#include "rondo/strategy.hpp"
#include "rondo/tuning.hpp"

namespace rondo {

/// Everything in it is the same on all ranks. Who has how much of the message is not in it:
/// uneven counts need no other plan.
struct Request {
    Collective collective = Collective::all_reduce;
    std::uint64_t count = 0;  ///< elements of the whole message: all parts together
    std::uint32_t element_bytes = 1;
    /// broadcast, scatter: who has the value; reduce, gather: the first destination.
    std::uint32_t root = 0;
    std::vector<std::uint32_t> destinations = {};  ///< reduce and broadcast; empty: everybody
    /// all_to_all with parts of different lengths: a rank knows only those that it sends or
    /// receives, so nobody passes on parts of others.
    bool uneven_pairs = false;
    Strategy strategy = {};  ///< automatic: every candidate; else only this one is considered
    Tuning tuning = {};      ///< what the caller has fixed

    /// Of the whole message; the largest number where that can't be told.
    std::uint64_t bytes() const {
        const std::uint64_t most = element_bytes == 0 ? 0 : UINT64_MAX / element_bytes;
        return count > most ? UINT64_MAX : count * element_bytes;
    }
    bool operator==(const Request&) const = default;
};

}  // namespace rondo
