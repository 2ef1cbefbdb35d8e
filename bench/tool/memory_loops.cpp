// Sums and copies of floats as one would write them by hand for this processor.
//
// A block of one, two or four vectors is summed in registers, so that loads of one source do not
// wait for another's, and then stored. The loops exist for AVX-512 and AVX2; what is left over at
// the end, and other processors, take the plain loop.
#include "bench/tool/memory_loops.hpp"

#include <algorithm>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace rondo::bench {
namespace {

void plain_fold(const FoldSpans& spans, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
        float sum = spans.sources[0][i];
        for (std::size_t s = 1; s < spans.source_count; ++s) sum += spans.sources[s][i];
        for (std::size_t d = 0; d < spans.destination_count; ++d) spans.destinations[d][i] = sum;
    }
}

#if defined(__x86_64__)

constexpr std::size_t largest_block = 64;  // floats
constexpr std::size_t prefetch_distance = 256;

template <bool prefetching, std::size_t floats>
inline void look_ahead(const float* from) {
    if constexpr (prefetching) {
        for (std::size_t i = 0; i < floats; i += 16) {
            _mm_prefetch(reinterpret_cast<const char*>(from + prefetch_distance + i), _MM_HINT_T0);
        }
    }
}

// Sums `count` floats (a multiple of 64) from `offset` on. `known` sources, or spans.source_count
// where it is 0: a compiler unrolls what it knows.
template <std::size_t known, int vectors, bool streaming, bool prefetching>
__attribute__((target("avx512f"))) void fold_512(const FoldSpans& spans, std::size_t offset,
                                                 std::size_t count) {
    constexpr std::size_t block = 16 * vectors;
    const std::size_t sources = known == 0 ? spans.source_count : known;
    for (std::size_t i = offset; i < offset + count; i += block) {
        __m512 sums[vectors];
        look_ahead<prefetching, block>(spans.sources[0] + i);
        for (int v = 0; v < vectors; ++v) sums[v] = _mm512_loadu_ps(spans.sources[0] + i + 16 * v);
        for (std::size_t s = 1; s < sources; ++s) {
            const float* const from = spans.sources[s] + i;
            look_ahead<prefetching, block>(from);
            for (int v = 0; v < vectors; ++v) {
                sums[v] = _mm512_add_ps(sums[v], _mm512_loadu_ps(from + 16 * v));
            }
        }
        for (std::size_t d = 0; d < spans.destination_count; ++d) {
            float* const to = spans.destinations[d] + i;
            for (int v = 0; v < vectors; ++v) {
                if constexpr (streaming) {
                    _mm512_stream_ps(to + 16 * v, sums[v]);
                } else {
                    _mm512_storeu_ps(to + 16 * v, sums[v]);
                }
            }
        }
    }
}

// As above, with vectors of half the size, so twice as many.
template <std::size_t known, int wide_vectors, bool streaming, bool prefetching>
__attribute__((target("avx2"))) void fold_256(const FoldSpans& spans, std::size_t offset,
                                              std::size_t count) {
    constexpr int vectors = 2 * wide_vectors;
    constexpr std::size_t block = 8 * vectors;
    const std::size_t sources = known == 0 ? spans.source_count : known;
    for (std::size_t i = offset; i < offset + count; i += block) {
        __m256 sums[vectors];
        look_ahead<prefetching, block>(spans.sources[0] + i);
        for (int v = 0; v < vectors; ++v) sums[v] = _mm256_loadu_ps(spans.sources[0] + i + 8 * v);
        for (std::size_t s = 1; s < sources; ++s) {
            const float* const from = spans.sources[s] + i;
            look_ahead<prefetching, block>(from);
            for (int v = 0; v < vectors; ++v) {
                sums[v] = _mm256_add_ps(sums[v], _mm256_loadu_ps(from + 8 * v));
            }
        }
        for (std::size_t d = 0; d < spans.destination_count; ++d) {
            float* const to = spans.destinations[d] + i;
            for (int v = 0; v < vectors; ++v) {
                if constexpr (streaming) {
                    _mm256_stream_ps(to + 8 * v, sums[v]);
                } else {
                    _mm256_storeu_ps(to + 8 * v, sums[v]);
                }
            }
        }
    }
}

using BlockFold = void (*)(const FoldSpans&, std::size_t, std::size_t);

template <std::size_t known, int vectors, bool streaming, bool prefetching>
BlockFold block_fold() {
    if (__builtin_cpu_supports("avx512f")) {
        return &fold_512<known, vectors, streaming, prefetching>;
    }
    return __builtin_cpu_supports("avx2") ? &fold_256<known, vectors, streaming, prefetching>
                                          : nullptr;
}

template <int vectors, bool streaming, bool prefetching>
BlockFold block_fold_of(std::size_t sources) {
    switch (sources) {
        case 1:
            return block_fold<1, vectors, streaming, prefetching>();
        case 2:
            return block_fold<2, vectors, streaming, prefetching>();
        case 4:
            return block_fold<4, vectors, streaming, prefetching>();
        case 8:
            return block_fold<8, vectors, streaming, prefetching>();
        default:
            return block_fold<0, vectors, streaming, prefetching>();
    }
}

template <int vectors>
BlockFold block_fold_of(std::size_t sources, bool streaming, bool prefetching) {
    if (streaming) {
        return prefetching ? block_fold_of<vectors, true, true>(sources)
                           : block_fold_of<vectors, true, false>(sources);
    }
    return prefetching ? block_fold_of<vectors, false, true>(sources)
                       : block_fold_of<vectors, false, false>(sources);
}

BlockFold block_fold_of(std::size_t sources, int vectors, bool streaming, bool prefetching) {
    if (vectors == 1) return block_fold_of<1>(sources, streaming, prefetching);
    return vectors == 2 ? block_fold_of<2>(sources, streaming, prefetching)
                        : block_fold_of<4>(sources, streaming, prefetching);
}

bool aligned(const FoldSpans& spans, std::size_t at) {
    return std::all_of(
        spans.destinations, spans.destinations + spans.destination_count,
        [at](const float* to) { return reinterpret_cast<std::uintptr_t>(to + at) % 64 == 0; });
}

void wide_fold(const FoldSpans& spans, std::size_t begin, std::size_t end, LoopStyle style) {
    const std::size_t count = (end - begin) / largest_block * largest_block;
    const bool streaming = style.streaming && aligned(spans, begin);
    block_fold_of(spans.source_count, style.vectors, streaming, style.prefetching)(spans, begin,
                                                                                   count);
    if (streaming) _mm_sfence();
    plain_fold(spans, begin + count, end);
}

template <std::size_t sources, bool streaming>
void sum_exactly(const float* const* from, float* to, std::size_t count) {
    block_fold<sources, 4, streaming, false>()({from, &to, sources, 1}, 0, count);
    if (streaming) _mm_sfence();
}

bool has_wide_vectors() {
    return block_fold<1, 4, false, false>() != nullptr;
}

#else

bool has_wide_vectors() {
    return false;
}

#endif

}  // namespace

std::vector<LoopStyle> loop_styles() {
    if (!has_wide_vectors()) return {{}};
    std::vector<LoopStyle> styles;
    for (const int vectors : {1, 2, 4}) {
        for (const bool streaming : {false, true}) {
            for (const bool prefetching : {false, true}) {
                styles.push_back({vectors, streaming, prefetching});
            }
        }
    }
    return styles;
}

void fold(const FoldSpans& spans, std::size_t begin, std::size_t end,
          [[maybe_unused]] LoopStyle style) {
#if defined(__x86_64__)
    if (has_wide_vectors()) return wide_fold(spans, begin, end, style);
#endif
    plain_fold(spans, begin, end);
}

SumOfMany sum_of([[maybe_unused]] std::size_t sources, [[maybe_unused]] bool streaming) {
#if defined(__x86_64__)
    if (!has_wide_vectors()) return nullptr;
    if (sources == 2) return streaming ? &sum_exactly<2, true> : &sum_exactly<2, false>;
    if (sources == 8) return streaming ? &sum_exactly<8, true> : &sum_exactly<8, false>;
#endif
    return nullptr;
}

}  // namespace rondo::bench
