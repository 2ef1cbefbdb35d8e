// Sums and copies of floats as one would write them by hand for this processor: what the library's
// general loops are measured against.
#pragma once

#include <cstddef>
#include <vector>

namespace rondo::bench {

/// How a loop goes through memory. Which is fastest depends on the sizes and on the processor: try.
struct LoopStyle {
    /// So many of 64 bytes are read from each source, then written to each destination: 1, 2 or 4.
    int vectors = 4;
    /// Stores go past the caches. Needs destinations that are aligned to 64 bytes alike.
    bool streaming = false;
    /// Asks for what comes 1 KiB later.
    bool prefetching = false;
};

/// Those that this processor can do.
std::vector<LoopStyle> loop_styles();

struct FoldSpans {
    const float* const* sources = nullptr;
    float* const* destinations = nullptr;
    std::size_t source_count = 0;
    std::size_t destination_count = 0;
};

/// Adds up all sources, elements `begin` to `end`, and writes the sum to every destination, which
/// may be sources too. One source is copied.
void fold(const FoldSpans& spans, std::size_t begin, std::size_t end, LoopStyle style);

/// How a reduction reads its sources when it is written for exactly this many, as a benchmark of
/// the library's reduce loops wants it. Null where this processor has no wide vectors.
using SumOfMany = void (*)(const float* const* from, float* to, std::size_t count);
SumOfMany sum_of(std::size_t sources, bool streaming);

}  // namespace rondo::bench
