// What the kernels take: one struct each, passed by value.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/flags.hpp"

namespace rondo::kernels {

/// Spans that fit into the arguments of a launch. More go through a SegmentTable.
inline constexpr std::uint32_t max_inline_spans = 16;
/// Ranks that the barrier kernel serves.
inline constexpr std::uint32_t max_barrier_ranks = 64;

/// Several spans that are reduced as if each lay behind the other, and spans beyond
/// max_inline_spans. All three arrays are in memory that the device reads and must live until the
/// kernel ends.
struct SegmentTable {
    const void* const* sources = nullptr;  ///< [segment][source]
    void* const* destinations = nullptr;   ///< [segment][destination]
    const std::uint64_t* ends =
        nullptr;              ///< [segment] elements in it and all before it; the last is the count
    std::uint32_t count = 0;  ///< 0: the spans are in the arguments
};

/// reduce_kernel: see ReduceStep for the rules. Each block takes one contiguous part of the
/// elements.
struct ReduceArguments {
    const void* sources[max_inline_spans] = {};
    void* destinations[max_inline_spans] = {};
    std::uint64_t factors[max_inline_spans] = {};  ///< premul_sum: see argument_bits()
    const std::uint64_t* factor_table =
        nullptr;  ///< premul_sum with more sources than max_inline_spans
    SegmentTable segments = {};
    std::uint64_t count = 0;  ///< elements
    std::uint32_t source_count = 0;
    std::uint32_t destination_count = 0;
    std::uint32_t divisor = 0;  ///< mean: the number of contributions; 0: none
};

/// copy_kernel: one span to several. Each block takes one contiguous part of the bytes.
struct CopyArguments {
    const void* source = nullptr;
    void* destinations[max_inline_spans] = {};
    std::uint32_t destination_count = 0;
    std::uint64_t bytes = 0;
};

/// barrier_kernel: every rank tells every other that it came, and waits for all, `rounds` times.
/// Runs as one block. flags[r] is an array in the memory of rank r with one flag per rank; flags
/// start at `epoch` and end at epoch + rounds.
struct BarrierArguments {
    std::uint32_t* flags[max_barrier_ranks] = {};
    std::uint32_t rank = 0;
    std::uint32_t ranks = 0;
    std::uint32_t epoch = 0;
    std::uint32_t rounds = 1;
    WaitLimits limits = {};
};

}  // namespace rondo::kernels
