// Sums of floats as one would write them by hand for a known number of sources: what the general
// loops are measured against.
#pragma once

#include <immintrin.h>

#include <cstddef>

namespace rondo::bench {

/// Adds up `sources` arrays of `count` floats, a multiple of 64; `to` is aligned to 64 bytes.
using HandWritten = void (*)(const float* const* from, float* to, std::size_t count);

template <int sources, bool streaming>
__attribute__((target("avx2"))) void sum_avx2(const float* const* from, float* to,
                                              std::size_t count) {
    for (std::size_t i = 0; i < count; i += 32) {
        for (std::size_t u = i; u < i + 32; u += 8) {
            __m256 sum = _mm256_loadu_ps(from[0] + u);
            for (int s = 1; s < sources; ++s) {
                sum = _mm256_add_ps(sum, _mm256_loadu_ps(from[s] + u));
            }
            if constexpr (streaming) {
                _mm256_stream_ps(to + u, sum);
            } else {
                _mm256_storeu_ps(to + u, sum);
            }
        }
    }
    if constexpr (streaming) {
        _mm_sfence();
    }
}

template <int sources, bool streaming>
__attribute__((target("avx512f"))) void sum_avx512(const float* const* from, float* to,
                                                   std::size_t count) {
    for (std::size_t i = 0; i < count; i += 64) {
        for (std::size_t u = i; u < i + 64; u += 16) {
            __m512 sum = _mm512_loadu_ps(from[0] + u);
            for (int s = 1; s < sources; ++s) {
                sum = _mm512_add_ps(sum, _mm512_loadu_ps(from[s] + u));
            }
            if constexpr (streaming) {
                _mm512_stream_ps(to + u, sum);
            } else {
                _mm512_storeu_ps(to + u, sum);
            }
        }
    }
    if constexpr (streaming) {
        _mm_sfence();
    }
}

/// The best that this processor can run, or null where it has neither instruction set.
template <int sources, bool streaming>
HandWritten hand_written() {
    if (__builtin_cpu_supports("avx512f")) {
        return &sum_avx512<sources, streaming>;
    }
    return __builtin_cpu_supports("avx2") ? &sum_avx2<sources, streaming> : nullptr;
}

}  // namespace rondo::bench
