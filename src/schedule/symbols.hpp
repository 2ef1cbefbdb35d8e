// What symbolic execution computes with: sets of contributions, vector clocks and flags.
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

/// A counter that one lane raises and one lane waits for. Who sees a value knows what its writer
/// knew at the first post that reached it; the writer may be further by then, but that is not
/// guaranteed.
class SymbolicFlag {
public:
    /// A value that is not higher changes nothing.
    void post(std::int64_t value, const Clock& clock) {
        if (value <= value_) return;
        value_ = value;
        if (last_ - first_ == posts_.size()) grow();
        Post& post = posts_[last_++ % posts_.size()];
        post.value = value;
        post.clock = clock;
    }
    bool has_reached(std::int64_t value) const { return value <= value_; }
    /// After a wait for a value that was reached. Its waiter asks for rising values only, so what
    /// is below can be forgotten.
    void learn(std::int64_t value, Clock& clock) {
        while (first_ != last_ && posts_[first_ % posts_.size()].value < value) ++first_;
        if (first_ != last_ && value > start_) join(clock, posts_[first_ % posts_.size()].clock);
    }

private:
    struct Post {
        std::int64_t value = 0;
        Clock clock = {};
    };

    /// Clocks' memory is used again, since most of the time went into getting new.
    void grow() {
        std::vector<Post> larger(std::max<std::size_t>(2, 2 * posts_.size()));
        for (std::size_t i = first_; i != last_; ++i) {
            larger[i % larger.size()] = std::move(posts_[i % posts_.size()]);
        }
        posts_ = std::move(larger);
    }

    static constexpr std::int64_t start_ = 0;  ///< where flags begin
    std::int64_t value_ = start_;
    std::vector<Post> posts_;  ///< a ring
    std::size_t first_ = 0;
    std::size_t last_ = 0;
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
