// What a caller may fix of how work is carried out. None of it changes a result.
#pragma once

#include <cstdint>

namespace rondo {

/// 0 leaves the choice to the library, which simulates what is best for the machine and the size.
///
///     rondo::Communicator::create({.tuning = {.replicas = 8, .slot_bytes = 64 << 10}});
struct Tuning {
    /// How many replicas of a schedule run side by side: each lane of a rank becomes so many
    /// blocks. At most 64 blocks per device in all, and at most as many as it runs at once: where
    /// so many replicas are more, as many run as fit.
    std::uint32_t replicas = 0;
    std::uint32_t depth = 0;        ///< slots of a channel, a power of two
    std::uint64_t slot_bytes = 0;   ///< of a slot of one replica; a multiple of 64
    std::uint32_t first_epoch = 0;  ///< where flags start counting; for tests of the wrap

    bool operator==(const Tuning&) const = default;
};

}  // namespace rondo
