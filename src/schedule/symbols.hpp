// What symbolic execution computes with: sets of contributions and vector clocks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/container/small_vector.hpp>

namespace rondo {

using Clock = std::vector<std::uint32_t>;

inline void join(Clock& clock, const Clock& other) {
    for (std::size_t i = 0; i < clock.size(); ++i) {
        clock[i] = std::max(clock[i], other[i]);
    }
}

/// The latest of a growing list of clocks, by their position in it: all that are kept are the last
/// `keep`. Their memory is used again, since most of the time went into getting new.
class ClockHistory {
public:
    std::size_t size() const { return size_; }
    void push(const Clock& clock, std::size_t keep) {
        if (keep > kept_.size()) grow(keep);
        kept_[size_++ % kept_.size()] = clock;
    }
    const Clock& operator[](std::size_t position) const { return kept_[position % kept_.size()]; }

private:
    void grow(std::size_t keep) {
        std::vector<Clock> larger(std::max(keep, 2 * kept_.size()));
        for (std::size_t i = size_ - std::min(size_, kept_.size()); i < size_; ++i) {
            larger[i % larger.size()] = std::move(kept_[i % kept_.size()]);
        }
        kept_ = std::move(larger);
    }

    std::vector<Clock> kept_;
    std::size_t size_ = 0;
};

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
    boost::container::small_vector<std::uint64_t, 2> words_;
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
