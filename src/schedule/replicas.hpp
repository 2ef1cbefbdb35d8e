// Replicas: copies of a schedule that run side by side, each on its contiguous share of every unit.
//
// The rule that makes one proof cover all of them: replicas share no flag, no slot and no element.
// Then whatever one does is invisible to the others, and each alone is the schedule that verify()
// has proved, on a smaller message. Whoever lays out flags and slots, or cuts units into shares,
// can ask find_shared() whether he has kept it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rondo {

/// From `begin`, before `end`. Empty where they are equal.
struct ByteRange {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;

    bool operator==(const ByteRange&) const = default;
};

/// One replica's share of a unit of `count` elements: all together are the unit, in order. They
/// meet at multiples of `grain` elements from the unit's beginning.
ByteRange replica_share(std::uint64_t count, std::uint32_t replicas, std::uint32_t replica,
                        std::uint64_t grain);

/// Chunk `number` of a replica's share of `count` elements that is cut every `chunk`: the chunks of
/// replica r end earlier by r/R of a chunk, rounded down to grains, so that replicas don't all wait
/// for their flags at the same time. All together are the share; those beyond it are empty.
struct ReplicaChunks {
    std::uint64_t count = 0;
    std::uint64_t chunk = 1;
    std::uint64_t grain = 1;
    std::uint32_t replicas = 1;
    std::uint32_t replica = 0;

    std::uint64_t shift() const;
    ByteRange range(std::uint64_t number) const;
    /// So many has it; 0 for an empty share.
    std::uint64_t chunks() const;
};

/// What one replica touches. Flags and slots are addresses in one address space (or in one per
/// rank, told apart by high bits); elements are those of the whole message.
struct ReplicaUse {
    std::vector<ByteRange> flags = {};
    std::vector<ByteRange> slots = {};
    std::vector<ByteRange> elements = {};
};

/// Names what two replicas share, in words; empty when they share nothing.
std::string find_shared(const std::vector<ReplicaUse>& replicas);

}  // namespace rondo
