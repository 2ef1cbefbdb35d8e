// Replicas share no flag, no slot and no element: the shares and chunks of all of them are exactly
// the unit, and a layout that breaks the rule is named.
#include <gtest/gtest.h>

#include "schedule/replicas.hpp"

namespace rondo {
namespace {

TEST(Replicas, SharesAndChunksAreTheUnitExactlyOnce) {
    for (const std::uint64_t count : {0u, 1u, 15u, 16u, 17u, 160u, 1000u, 4099u}) {
        for (const std::uint32_t replicas : {1u, 2u, 3u, 8u, 64u}) {
            for (const std::uint64_t chunk : {16u, 48u, 1024u}) {
                std::uint64_t next = 0;
                for (std::uint32_t r = 0; r < replicas; ++r) {
                    const ByteRange share = replica_share(count, replicas, r, 16);
                    ASSERT_EQ(share.begin, next);
                    ASSERT_LE(share.begin, share.end);
                    ASSERT_TRUE(share.begin % 16 == 0 || share.begin == count);
                    const ReplicaChunks chunks{.count = share.end - share.begin,
                                               .chunk = chunk,
                                               .grain = 16,
                                               .replicas = replicas,
                                               .replica = r};
                    std::uint64_t inside = 0;
                    for (std::uint64_t k = 0; k < chunks.chunks(); ++k) {
                        const ByteRange range = chunks.range(k);
                        ASSERT_EQ(range.begin, inside);
                        ASSERT_LT(range.begin, range.end);
                        ASSERT_LE(range.end - range.begin, chunk);  // fits its slot
                        inside = range.end;
                    }
                    ASSERT_EQ(inside, chunks.count);
                    ASSERT_EQ(chunks.range(chunks.chunks()).begin, chunks.count);  // empty
                    next = share.end;
                }
                ASSERT_EQ(next, count);
            }
        }
    }
}

TEST(Replicas, OfSeveralChunksEndAtDifferentPlaces) {
    const auto first_end = [](std::uint32_t replica, std::uint64_t count) {
        return ReplicaChunks{
            .count = count, .chunk = 64, .grain = 16, .replicas = 4, .replica = replica}
            .range(0)
            .end;
    };
    EXPECT_EQ(first_end(0, 640), 64u);
    EXPECT_EQ(first_end(1, 640), 48u);
    EXPECT_EQ(first_end(3, 640), 16u);
    EXPECT_EQ(first_end(3, 64), 64u);  // one chunk: nothing to shift
}

/// Two replicas of two units, one flag and one slot each, side by side.
std::vector<ReplicaUse> two_replicas() {
    std::vector<ReplicaUse> replicas(2);
    for (std::uint32_t r = 0; r < 2; ++r) {
        replicas[r].flags = {{128 * r, 128 * r + 4}};
        replicas[r].slots = {{4096 + 512 * r, 4096 + 512 * (r + 1)}};
        for (const std::uint64_t unit : {0, 1000}) {
            const ByteRange share = replica_share(1000, 2, r, 16);
            replicas[r].elements.push_back({unit + share.begin, unit + share.end});
        }
    }
    return replicas;
}

TEST(Replicas, WhatTheyShareIsNamed) {
    EXPECT_EQ(find_shared(two_replicas()), "");
    auto flags = two_replicas();
    flags[1].flags = flags[0].flags;
    EXPECT_EQ(find_shared(flags), "replicas 0 and 1 share a flag at 0");
    auto slots = two_replicas();
    slots[0].slots[0].end += 1;  // a slot that is one byte too long
    EXPECT_EQ(find_shared(slots), "replicas 0 and 1 share a slot at 4608");
    auto elements = two_replicas();
    elements[1].elements[1].begin -= 1;
    EXPECT_EQ(find_shared(elements), "replicas 0 and 1 share an element at 1511");
    // A long range hides what comes behind a short one of the same replica.
    auto hidden = two_replicas();
    hidden[0].slots = {{4096, 8192}, {4100, 4104}};
    EXPECT_EQ(find_shared(hidden), "replicas 0 and 1 share a slot at 4608");
}

}  // namespace
}  // namespace rondo
