// How parts of a message are cut into units, and units into the replicas' shares: by multiplication
// with fractions, so that no device divides. The same code on devices and on the host.
#pragma once

#include <cstdint>

#include "kernels/platform.hpp"

namespace rondo::kernels {

/// The upper half of a product of 128 bits.
RONDO_DEVICE std::uint64_t high_product(std::uint64_t a, std::uint64_t b) {
#if defined(__CUDA_ARCH__)
    return __umul64hi(a, b);
#else
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(static_cast<Wide>(a) * b >> 64);
#endif
}

/// numerator / denominator as a number that high_product() multiplies with: times 2^64, rounded up.
/// The product is the exact quotient, rounded down, as long as count * denominator < 2^64. The
/// whole is 2^64, so 0: those who may meet it ask first.
inline std::uint64_t fraction_of(std::uint64_t numerator, std::uint64_t denominator) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(((static_cast<Wide>(numerator) << 64) + denominator - 1) /
                                      denominator);
}

/// Elements [begin, end) of a part.
struct ElementRange {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

/// A share of a unit: which unit of its part, and which replica.
struct ShareOfUnit {
    std::uint64_t unit_begin = 0;  ///< fractions of the part; the end is 0 where the part ends
    std::uint64_t unit_end = 0;
    std::uint64_t replica_part = 0;  ///< the fraction that one replica is: fraction_of(1, replicas)
    std::uint32_t replica = 0;
    std::uint32_t replicas = 1;
};

/// The share's elements in a part of `count`, cut at multiples of 2^grain_shift. Shares of one unit
/// meet where they should: neighbours compute the same number.
RONDO_DEVICE ElementRange share_of(std::uint64_t count, std::uint32_t grain_shift,
                                   const ShareOfUnit& share) {
    const std::uint64_t grains =
        (count >> grain_shift) + ((count & ((std::uint64_t{1} << grain_shift) - 1)) != 0 ? 1 : 0);
    const std::uint64_t first = high_product(grains, share.unit_begin);
    const std::uint64_t last = share.unit_end == 0 ? grains : high_product(grains, share.unit_end);
    const std::uint64_t length = last - first;
    const std::uint64_t begin = first + high_product(length, share.replica_part * share.replica);
    const std::uint64_t end =
        share.replica + 1 == share.replicas
            ? last
            : first + high_product(length, share.replica_part * (share.replica + 1));
    const auto element = [&](std::uint64_t grain) {
        const std::uint64_t at = grain << grain_shift;
        return at < count ? at : count;
    };
    return {element(begin), element(end)};
}

}  // namespace rondo::kernels
