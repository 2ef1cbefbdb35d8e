// Sums and copies of floats as one would write them by hand for this processor.
//
// A block of four vectors is summed in registers, so that loads of one source do not wait for
// another's, and then stored. The loops exist for AVX-512 and AVX2; what is left over at the end,
// and other processors, take the plain loop.
#include "bench/tool/memory_loops.hpp"

#include <algorithm>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace rondo::bench {
namespace {

constexpr std::size_t tile_floats = 2048;

void plain_fold(const FoldSpans& spans, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
        float sum = spans.sources[0][i];
        for (std::size_t s = 1; s < spans.source_count; ++s) sum += spans.sources[s][i];
        for (std::size_t d = 0; d < spans.destination_count; ++d) spans.destinations[d][i] = sum;
    }
}

#if defined(__x86_64__)

/// What differs between the two instruction sets. A block is four vectors.
struct Avx512 {
    static constexpr std::size_t block = 64;
};
struct Avx2 {
    static constexpr std::size_t block = 32;
};

// Sums `count` floats (a multiple of 64) from `offset` on. `known` sources, or spans.source_count
// where it is 0: a compiler unrolls what it knows.
template <std::size_t known, bool streaming>
__attribute__((target("avx512f"))) void fold_512(const FoldSpans& spans, std::size_t offset,
                                                 std::size_t count) {
    const std::size_t sources = known == 0 ? spans.source_count : known;
    for (std::size_t i = offset; i < offset + count; i += Avx512::block) {
        __m512 sums[4];
        for (int v = 0; v < 4; ++v) sums[v] = _mm512_loadu_ps(spans.sources[0] + i + 16 * v);
        for (std::size_t s = 1; s < sources; ++s) {
            const float* const from = spans.sources[s] + i;
            for (int v = 0; v < 4; ++v) {
                sums[v] = _mm512_add_ps(sums[v], _mm512_loadu_ps(from + 16 * v));
            }
        }
        for (std::size_t d = 0; d < spans.destination_count; ++d) {
            float* const to = spans.destinations[d] + i;
            for (int v = 0; v < 4; ++v) {
                if constexpr (streaming) {
                    _mm512_stream_ps(to + 16 * v, sums[v]);
                } else {
                    _mm512_storeu_ps(to + 16 * v, sums[v]);
                }
            }
        }
    }
}

template <std::size_t known, bool streaming>
__attribute__((target("avx2"))) void fold_256(const FoldSpans& spans, std::size_t offset,
                                              std::size_t count) {
    const std::size_t sources = known == 0 ? spans.source_count : known;
    for (std::size_t i = offset; i < offset + count; i += Avx2::block) {
        __m256 sums[4];
        for (int v = 0; v < 4; ++v) sums[v] = _mm256_loadu_ps(spans.sources[0] + i + 8 * v);
        for (std::size_t s = 1; s < sources; ++s) {
            const float* const from = spans.sources[s] + i;
            for (int v = 0; v < 4; ++v) {
                sums[v] = _mm256_add_ps(sums[v], _mm256_loadu_ps(from + 8 * v));
            }
        }
        for (std::size_t d = 0; d < spans.destination_count; ++d) {
            float* const to = spans.destinations[d] + i;
            for (int v = 0; v < 4; ++v) {
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

template <std::size_t known, bool streaming>
BlockFold block_fold() {
    if (__builtin_cpu_supports("avx512f")) return &fold_512<known, streaming>;
    return __builtin_cpu_supports("avx2") ? &fold_256<known, streaming> : nullptr;
}

template <bool streaming>
BlockFold block_fold_of(std::size_t sources) {
    switch (sources) {
        case 1:
            return block_fold<1, streaming>();
        case 2:
            return block_fold<2, streaming>();
        case 4:
            return block_fold<4, streaming>();
        case 8:
            return block_fold<8, streaming>();
        default:
            return block_fold<0, streaming>();
    }
}

BlockFold block_fold_of(std::size_t sources, bool streaming) {
    return streaming ? block_fold_of<true>(sources) : block_fold_of<false>(sources);
}

bool aligned(const FoldSpans& spans, std::size_t at) {
    return std::all_of(
        spans.destinations, spans.destinations + spans.destination_count,
        [at](const float* to) { return reinterpret_cast<std::uintptr_t>(to + at) % 64 == 0; });
}

/// Blocks by way of a tile that stays in the first cache.
void tiled_fold(const FoldSpans& spans, std::size_t begin, std::size_t count, bool streaming) {
    alignas(64) float tile[tile_floats];
    float* const sum_to[] = {tile};
    const BlockFold sum = block_fold_of(spans.source_count, false);
    const BlockFold copy = block_fold_of(1, streaming);
    std::vector<const float*> sources(spans.source_count);
    for (std::size_t at = begin; at < begin + count; at += tile_floats) {
        const std::size_t now = std::min(tile_floats, begin + count - at);
        for (std::size_t s = 0; s < sources.size(); ++s) sources[s] = spans.sources[s] + at;
        if (sources.size() > 1) {
            sum({sources.data(), sum_to, sources.size(), 1}, 0, now);
            sources[0] = tile;
        }
        for (std::size_t d = 0; d < spans.destination_count; ++d) {
            float* const destination[] = {spans.destinations[d] + at};
            copy({sources.data(), destination, 1, 1}, 0, now);
        }
    }
}

void wide_fold(const FoldSpans& spans, std::size_t begin, std::size_t end, LoopStyle style) {
    const std::size_t count = (end - begin) / Avx512::block * Avx512::block;
    const bool streaming = style.streaming && aligned(spans, begin);
    if (style.tiled) {
        tiled_fold(spans, begin, count, streaming);
    } else {
        block_fold_of(spans.source_count, streaming)(spans, begin, count);
    }
    if (streaming) _mm_sfence();
    plain_fold(spans, begin + count, end);
}

template <std::size_t sources, bool streaming>
void sum_exactly(const float* const* from, float* to, std::size_t count) {
    block_fold<sources, streaming>()({from, &to, sources, 1}, 0, count);
    if (streaming) _mm_sfence();
}

bool has_wide_vectors() {
    return block_fold<1, false>() != nullptr;
}

#else

bool has_wide_vectors() {
    return false;
}

#endif

}  // namespace

std::vector<LoopStyle> loop_styles() {
    if (!has_wide_vectors()) return {{}};
    return {{false, false}, {true, false}, {false, true}, {true, true}};
}

void fold(const FoldSpans& spans, std::size_t begin, std::size_t end,
          [[maybe_unused]] LoopStyle style) {
#if defined(__x86_64__)
    if (has_wide_vectors()) return wide_fold(spans, begin, end, style);
#endif
    plain_fold(spans, begin, end);
}

void update(float* data, std::size_t count, LoopStyle style) {
    const float* const source[] = {data};
    float* const destination[] = {data};
    style.tiled = false;
    fold({source, destination, 1, 1}, 0, count, style);
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
