// What one step of a reduction reads, writes and does: the value that every executor of device code
// understands.
#pragma once

#include <cstdint>

namespace rondo::kernels {

/// Folds `source_count` spans into one and writes it to `destination_count` spans, all of `count`
/// elements. Sources are folded in the order of the table, so the result does not depend on who
/// runs it. Spans may have any alignment; a destination may be the very span of a source, any other
/// overlap is undefined.
struct ReduceStep {
    const void* const* sources = nullptr;
    void* const* destinations = nullptr;
    std::uint32_t source_count = 0;       ///< at least 1
    std::uint32_t destination_count = 0;  ///< at least 1
    std::uint64_t first = 0;              ///< elements to skip in every span
    std::uint64_t count = 0;              ///< elements; 0 does nothing
    /// premul_sum only: for each source the bits of its factor, as argument_bits() makes them.
    const std::uint64_t* factors = nullptr;
    /// sum only: what the sum is divided by at the end, below 2^31; 0 leaves it alone.
    std::uint32_t divisor = 0;
    /// Where the destinations are results that nothing reads again in this call: how many bytes of
    /// results the call has on all ranks; 0 otherwise. Only for choosing how to store.
    std::uint64_t result_bytes = 0;
};

}  // namespace rondo::kernels
