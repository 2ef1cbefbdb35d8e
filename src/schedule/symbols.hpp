// What symbolic execution computes with: sets of contributions and vector clocks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rondo {

using Clock = std::vector<std::uint32_t>;

inline void join(Clock& clock, const Clock& other) {
    for (std::size_t i = 0; i < clock.size(); ++i) {
        clock[i] = std::max(clock[i], other[i]);
    }
}

/// Ranks, as bits.
class RankSet {
public:
    RankSet() = default;
    explicit RankSet(std::uint32_t ranks) : words_((ranks + 63) / 64) {}

    void insert(std::uint32_t rank) { words_[rank / 64] |= std::uint64_t{1} << rank % 64; }
    /// False when the two have a rank in common.
    bool merge(const RankSet& other) {
        for (std::size_t i = 0; i < words_.size(); ++i) {
            if ((words_[i] & other.words_[i]) != 0) {
                return false;
            }
            words_[i] |= other.words_[i];
        }
        return true;
    }
    bool operator==(const RankSet&) const = default;
    std::vector<std::uint32_t> members() const {
        std::vector<std::uint32_t> ranks;
        for (std::uint32_t rank = 0; rank < words_.size() * 64; ++rank) {
            if ((words_[rank / 64] >> rank % 64 & 1) != 0) {
                ranks.push_back(rank);
            }
        }
        return ranks;
    }

private:
    std::vector<std::uint64_t> words_;
};

/// What a piece of memory holds: the sum of contributions to one chunk of one unit in one call.
struct Value {
    bool known = false;
    bool finished = false;
    std::uint32_t call = 0;
    std::uint32_t unit = 0;
    std::uint32_t chunk = 0;
    RankSet from;

    bool same_place(const Value& other) const {
        return call == other.call && unit == other.unit && chunk == other.chunk;
    }
    std::string print() const {
        return !known ? "nothing"
                      : fmt::format("contributions {} to unit {}, chunk {}{}", from.members(), unit,
                                    chunk, finished ? ", finished" : "");
    }
};

}  // namespace rondo
