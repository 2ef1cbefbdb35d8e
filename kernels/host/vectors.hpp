// The packs of a host block: the widest vectors of one instruction set, and how they move.
// Included only by loops.cpp, which is compiled once per instruction set; RONDO_ISA names the
// namespace of this copy.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cstddef>
#include <cstdint>

#include "kernels/reduce_loop.hpp"

namespace rondo::kernels::RONDO_ISA {

#if defined(__AVX512F__)
inline constexpr std::size_t width = 64;
#elif defined(__AVX2__)
inline constexpr std::size_t width = 32;
#else
inline constexpr std::size_t width = 16;
#endif

/// `T` in a vector of `bytes` bytes. (An alias template alone would lose the attribute where T is
/// dependent.)
template <class T, std::size_t bytes = width>
struct VectorOf {
    using type [[gnu::vector_size(bytes)]] = T;
    using Unaligned [[gnu::vector_size(bytes), gnu::aligned(1), gnu::may_alias]] = T;
};
template <class T>
using Vector = typename VectorOf<T>::type;
using FloatVector = Vector<float>;
using BitsVector = Vector<std::uint32_t>;

/// The bytes of one full vector, moved by `parts` loads or stores: what is widened on arrival is
/// best loaded in parts.
template <unsigned parts>
struct PackOf {
    using Part = typename VectorOf<std::uint32_t, width / parts>::type;
    using UnalignedPart = typename VectorOf<std::uint32_t, width / parts>::Unaligned;
    static constexpr unsigned size = parts;
    Part part[parts];
};

/// One thread that moves vectors at any address. Large results go past the caches when `streaming`.
struct VectorLanes {
    bool streaming = false;

    /// So many packs are in flight that 256 bytes of each span are read, then written: twice as
    /// many make streams to 4 or 8 destinations a third slower.
    template <class Decoded>
    static constexpr unsigned unroll = Decoded::size >= 4 ? 1
                                                          : (width == 64 ? 4 : 8) / Decoded::size;

    static constexpr bool is_one_thread = true;

    static constexpr std::size_t rank() { return 0; }
    static constexpr std::size_t size() { return 1; }
    static constexpr bool all_packs_aligned(const ReduceStep&, std::size_t) { return true; }

    /// Streaming stores need aligned destinations, so the elements before the first aligned one go
    /// apart.
    template <std::size_t element_bytes>
    RONDO_DEVICE std::size_t head(const ReduceStep& step, std::size_t bytes) const {
        if (!streaming) {
            return 0;
        }
        const auto address =
            reinterpret_cast<std::uintptr_t>(step.destinations[0]) + step.first * element_bytes;
        const std::size_t head = -address % width;
        return head < bytes ? head : bytes;
    }

    /// Widening keeps the processor so busy that it does not look far enough ahead in large spans
    /// by itself.
    template <class Decoded, std::size_t bytes>
    RONDO_DEVICE static void prefetch(const std::byte* from) {
        constexpr std::size_t ahead = 1024, line = 64;
        if constexpr (Decoded::size > 1) {
            RONDO_UNROLL
            for (std::size_t at = 0; at < bytes; at += line) {
                __builtin_prefetch(from + ahead + at);
            }
        }
    }

    template <class Pack>
    RONDO_DEVICE static Pack load(const std::byte* from) {
        Pack pack;
        RONDO_UNROLL
        for (unsigned i = 0; i < Pack::size; ++i) {
            pack.part[i] = reinterpret_cast<const typename Pack::UnalignedPart*>(from)[i];
        }
        return pack;
    }
    template <class Pack>
    RONDO_DEVICE void store(std::byte* to, const Pack& pack) const {
        RONDO_UNROLL
        for (unsigned i = 0; i < Pack::size; ++i) {
            if (streaming) {
                stream(reinterpret_cast<typename Pack::Part*>(to) + i, pack.part[i]);
            } else {
                reinterpret_cast<typename Pack::UnalignedPart*>(to)[i] = pack.part[i];
            }
        }
    }
    template <class Pack>
    RONDO_DEVICE static Pack load_ragged(const std::byte* from, unsigned bytes) {
        Pack pack{};
        __builtin_memcpy(&pack, from, bytes);
        return pack;
    }
    template <class Pack>
    RONDO_DEVICE static void store_ragged(std::byte* to, const Pack& pack, unsigned bytes) {
        __builtin_memcpy(to, &pack, bytes);
    }

private:
    template <class Part>
    RONDO_DEVICE static void stream(Part* to, Part part) {
#if defined(__AVX512F__)
        if constexpr (sizeof(Part) == 64) {
            _mm512_stream_si512(reinterpret_cast<__m512i*>(to), bits_as<__m512i>(part));
        }
#endif
#if defined(__AVX2__)
        if constexpr (sizeof(Part) == 32) {
            _mm256_stream_si256(reinterpret_cast<__m256i*>(to), bits_as<__m256i>(part));
        }
#endif
#if defined(__x86_64__)
        if constexpr (sizeof(Part) == 16) {
            _mm_stream_si128(reinterpret_cast<__m128i*>(to), bits_as<__m128i>(part));
        }
#else
        *to = part;  // such processors notice long streams themselves
#endif
    }
};

/// Orders streaming stores before whatever the thread stores next.
RONDO_DEVICE void finish_streaming() {
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

}  // namespace rondo::kernels::RONDO_ISA
