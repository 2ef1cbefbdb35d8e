// The packs of a GPU thread: 16 bytes in four registers, how they move between memory and
// registers, and who takes which. Compiled by nvcc for CudaBlock and by g++ for ThreadBlock, which
// so runs the very paths of the GPU.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/reduce_loop.hpp"

namespace rondo::kernels {

struct alignas(16) Pack16 {
    std::uint32_t word[4];
};

/// Reads from global memory, any kind of it: device, peer, mapped host. Never through the read-only
/// cache, because peers write it while the kernel runs.
template <class T>
RONDO_DEVICE T load_global(const std::byte* from) {
#if defined(__CUDA_ARCH__)
    __builtin_assume(__isGlobal(from));
    return *reinterpret_cast<const T*>(from);
#elif defined(__SANITIZE_THREAD__)
    // Byte by byte: ThreadSanitizer does not see reads of copies that the compiler expands.
    T value;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
        reinterpret_cast<std::byte*>(&value)[i] = from[i];
    }
    return value;
#else
    T value;
    __builtin_memcpy(&value, from, sizeof(T));
    return value;
#endif
}

/// A whole pack, or zeros where there is none.
RONDO_DEVICE Pack16 load_pack_if(bool is_there, const std::byte* from) {
    Pack16 pack{};
#if defined(__CUDA_ARCH__)
    // Written out: compilers take the struct apart, and some load its halves; and they branch, so
    // that one load would wait for another.
    asm volatile(
        "{\n\t.reg .pred there;\n\t"
        "setp.ne.u32 there, %5, 0;\n\t"
        "@there ld.global.v4.u32 {%0, %1, %2, %3}, [%4];\n\t}"
        : "+r"(pack.word[0]), "+r"(pack.word[1]), "+r"(pack.word[2]), "+r"(pack.word[3])
        : "l"(from), "r"(static_cast<std::uint32_t>(is_there))
        : "memory");
#else
    if (is_there) {
        pack = load_global<Pack16>(from);
    }
#endif
    return pack;
}

template <class T>
RONDO_DEVICE void store_global(std::byte* to, const T& value) {
#if defined(__CUDA_ARCH__)
    __builtin_assume(__isGlobal(to));
    *reinterpret_cast<T*>(to) = value;
#else
    __builtin_memcpy(to, &value, sizeof(T));
#endif
}

/// Packs that a thread has asked for before it waits for the first, where nobody computes with them
/// and where elements have so many bytes: 128 bytes of them as far as registers allow. Decoded
/// values of narrow elements need many, divisions of 64 bits too, and code for Pascal, Volta and
/// Blackwell more than that for other GPUs.
RONDO_DEVICE constexpr unsigned packs_in_flight_of(bool only_moves, std::size_t element_bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 700
    return only_moves || element_bytes >= 4 ? 4 : element_bytes;
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 750
    return only_moves || element_bytes >= 4 ? 4 : 2;
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
    return only_moves || element_bytes == 4 ? 8 : 4;
#else
    return only_moves || element_bytes >= 2 ? 8 : 4;
#endif
}

/// The packs of one thread in one turn: every stride-th, as far as there are any.
template <unsigned count>
class PackTurn {
public:
    /// `left` packs are left from the first on. 32 bits are enough for one turn, and save
    /// registers.
    RONDO_DEVICE PackTurn(std::uint32_t stride, std::size_t left)
        : stride_(stride),
          left_(left < count * stride ? static_cast<std::uint32_t>(left) : count * stride) {}

    RONDO_DEVICE bool has(unsigned u) const { return u == 0 || u * stride_ < left_; }
    RONDO_DEVICE std::uint32_t at(unsigned u) const {
        return u * stride_ * std::uint32_t{sizeof(Pack16)};
    }

private:
    std::uint32_t stride_;
    std::uint32_t left_;
};

/// The threads of one block: thread `rank` of `size` takes packs rank, rank + size, ... so that
/// neighbours in the block are neighbours in memory.
class PackLanes {
public:
    RONDO_DEVICE PackLanes(std::uint32_t rank, std::uint32_t size) : rank_(rank), size_(size) {}

    static constexpr bool is_one_thread = false;

    template <class Codec>
    static constexpr unsigned packs_in_flight = packs_in_flight_of(
        requires { Codec::only_moves; }, Codec::element_bytes);

    /// `left` packs are left from the thread's next on.
    template <unsigned count>
    RONDO_DEVICE PackTurn<count> turn(std::size_t left) const {
        return {size_, left};
    }

    RONDO_DEVICE std::size_t rank() const { return rank_; }
    RONDO_DEVICE std::size_t size() const { return size_; }

    /// Bytes before the first aligned pack of the first destination, in whole elements; 0 where
    /// that can't be.
    template <std::size_t element_bytes>
    RONDO_DEVICE std::size_t head(const ReduceStep& step, std::size_t bytes) const {
        const std::size_t head =
            -(address(step.destinations[0]) + step.first * element_bytes) % sizeof(Pack16);
        return head % element_bytes != 0 ? 0 : head < bytes ? head : bytes;
    }

    /// True when all spans are aligned to packs at `offset`.
    RONDO_DEVICE bool all_packs_aligned(const ReduceStep& step, std::size_t offset) const {
        std::uintptr_t bits = 0;
        RONDO_NO_UNROLL
        for (std::uint32_t s = 0; s < step.source_count; ++s) {
            bits |= address(step.sources[s]) + offset;
        }
        RONDO_NO_UNROLL
        for (std::uint32_t d = 0; d < step.destination_count; ++d) {
            bits |= address(step.destinations[d]) + offset;
        }
        return bits % sizeof(Pack16) == 0;
    }

    RONDO_DEVICE static Pack16 load_if(bool is_there, const std::byte* from) {
        return load_pack_if(is_there, from);
    }
    template <class Pack>
    RONDO_DEVICE static void store(std::byte* to, const Pack& pack) {
        store_global(to, pack);
    }

    /// The first `bytes` bytes of a pack at any address, in the largest pieces that address and
    /// size allow; the rest is 0.
    template <class Pack>
    RONDO_DEVICE static Pack load_ragged(const std::byte* from, std::uint32_t bytes) {
        const std::uintptr_t grain = address(from) | bytes;
        if (grain % 4 == 0) {
            return load_pieces<std::uint32_t>(from, bytes);
        }
        return grain % 2 == 0 ? load_pieces<std::uint16_t>(from, bytes)
                              : load_pieces<std::uint8_t>(from, bytes);
    }
    template <class Pack>
    RONDO_DEVICE static void store_ragged(std::byte* to, const Pack& pack, std::uint32_t bytes) {
        const std::uintptr_t grain = address(to) | bytes;
        if (grain % 4 == 0) {
            store_pieces<std::uint32_t>(to, pack, bytes);
        } else if (grain % 2 == 0) {
            store_pieces<std::uint16_t>(to, pack, bytes);
        } else {
            store_pieces<std::uint8_t>(to, pack, bytes);
        }
    }

private:
    RONDO_DEVICE static std::uintptr_t address(const void* pointer) {
        return reinterpret_cast<std::uintptr_t>(pointer);
    }

    template <class Piece>
    RONDO_DEVICE static Pack16 load_pieces(const std::byte* from, std::uint32_t bytes) {
        Pack16 pack{};
        RONDO_UNROLL
        for (std::uint32_t at = 0; at < sizeof(Pack16); at += sizeof(Piece)) {
            if (at < bytes) {
                const std::uint32_t piece = load_global<Piece>(from + at);
                pack.word[at / 4] |= piece << (at % 4 * 8);
            }
        }
        return pack;
    }
    template <class Piece>
    RONDO_DEVICE static void store_pieces(std::byte* to, const Pack16& pack, std::uint32_t bytes) {
        RONDO_UNROLL
        for (std::uint32_t at = 0; at < sizeof(Pack16); at += sizeof(Piece)) {
            if (at < bytes) {
                store_global(to + at, static_cast<Piece>(pack.word[at / 4] >> (at % 4 * 8)));
            }
        }
    }

    std::uint32_t rank_;
    std::uint32_t size_;
};

}  // namespace rondo::kernels
