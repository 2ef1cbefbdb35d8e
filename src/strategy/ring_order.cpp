// Searches a closed way through all ranks over hops that are wide enough, for less and less width.
#include "strategy/ring_order.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

namespace rondo {
namespace {

/// Then the order matters less than the time.
constexpr int most_steps = 100'000;

class Search {
public:
    explicit Search(const HopWidths& width) : ranks_(width.ranks()), width_(width), used_(ranks_) {
        for (std::uint32_t a = 0; a < ranks_; ++a) {
            next_.emplace_back();
            for (std::uint32_t b = 0; b < ranks_; ++b) {
                if (a != b) next_.back().push_back(b);
            }
            std::ranges::stable_sort(next_.back(), std::greater<>(),
                                     [&](std::uint32_t b) { return width_(a, b); });
        }
    }

    std::set<double, std::greater<>> widths() const {
        std::set<double, std::greater<>> result;
        for (std::uint32_t a = 0; a < ranks_; ++a) {
            for (std::uint32_t b = a + 1; b < ranks_; ++b) result.insert(width_(a, b));
        }
        return result;
    }

    bool run(double least) {
        least_ = least;
        steps_ = 0;
        used_.assign(ranks_, false);
        order_ = {0};
        used_[0] = true;
        return extend();
    }
    const std::vector<std::uint32_t>& order() const { return order_; }

private:
    bool extend() {
        if (order_.size() == ranks_) return width_(order_.back(), 0) >= least_;
        const std::uint32_t last = order_.back();
        for (const std::uint32_t next : next_[last]) {
            if (++steps_ > most_steps || width_(last, next) < least_) return false;
            if (used_[next]) continue;
            order_.push_back(next);
            used_[next] = true;
            if (extend()) return true;
            order_.pop_back();
            used_[next] = false;
        }
        return false;
    }

    const std::uint32_t ranks_;
    const HopWidths& width_;
    std::vector<std::vector<std::uint32_t>> next_;  ///< the others, widest first
    std::vector<bool> used_;
    std::vector<std::uint32_t> order_;
    double least_ = 0;
    int steps_ = 0;
};

}  // namespace

HopWidths::HopWidths(const Routing& routing) : HopWidths(routing.ranks()) {
    for (std::uint32_t a = 0; a < ranks_; ++a) {
        for (std::uint32_t b = 0; b < ranks_; ++b) {
            if (a != b) set(a, b, routing.bandwidth(a, b));
        }
    }
}

std::vector<std::uint32_t> find_ring_order(const HopWidths& widths) {
    std::vector<std::uint32_t> order(widths.ranks());
    std::iota(order.begin(), order.end(), 0u);
    if (widths.ranks() < 3) return order;
    Search search(widths);
    for (const double least : search.widths()) {
        if (search.run(least)) return search.order();
    }
    return order;
}

std::vector<std::uint32_t> find_halves(const HopWidths& widths) {
    // Grow one half from rank 0 by whoever is joined best to those already in it.
    const std::uint32_t ranks = widths.ranks();
    std::vector<std::uint32_t> half(ranks, 1);
    half[0] = 0;
    for (std::uint32_t size = 1; size < ranks / 2; ++size) {
        std::uint32_t best = ranks;
        double best_width = -1;
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            if (half[rank] == 0) continue;
            double width = 0;
            for (std::uint32_t member = 0; member < ranks; ++member) {
                if (half[member] == 0) width += widths(rank, member);
            }
            if (width > best_width) {
                best = rank;
                best_width = width;
            }
        }
        half[best] = 0;
    }
    return half;
}

}  // namespace rondo
