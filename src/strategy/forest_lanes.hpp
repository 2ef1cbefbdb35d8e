// Which lanes of its ranks a forest's steps run in: lanes that serve several trees, or lanes of
// each tree's own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "strategy/tree.hpp"

namespace rondo {

/// Which lane of a rank runs which of its steps. Steps of one level, up or down, share lanes: while
/// those move one chunk, the lanes of the next level move the chunk before. Levels get lanes by how
/// much they move, and the units of a level are dealt out so that its lanes have the same to do.
class LaneDealer {
public:
    explicit LaneDealer(std::size_t units) : up_(units), down_(units) {}

    /// A step of the unit at this level that moves so many times the unit; levels grow from the
    /// leaves up to the root and on, down to the leaves.
    void add(std::uint32_t unit, std::uint32_t level, bool down, double cost) {
        levels_[level].push_back({unit, down, cost});
        busiest_ = std::max(busiest_, cost);
    }

    /// With which everything that moves has one of its own.
    std::size_t own_lanes() const {
        std::size_t lanes = 0;
        for (const auto& [level, steps] : levels_) {
            const auto moving =
                std::ranges::count_if(steps, [](const Item& it) { return it.cost > 0; });
            lanes += static_cast<std::size_t>(std::max<std::ptrdiff_t>(moving, 1));
        }
        return lanes;
    }

    /// What the largest step costs.
    double busiest() const { return busiest_; }

    /// At most so many lanes. A lane that has no more to do than `enough` gets no help.
    void deal(std::uint32_t lanes, double enough) {
        lanes_ = lanes;
        enough_ = enough;
        std::vector<Level> levels;
        for (auto& [level, steps] : levels_) {
            levels.emplace_back();
            levels.back().steps = std::move(steps);
            for (const Item& item : levels.back().steps) levels.back().cost += item.cost;
        }
        give_lanes(levels);
        for (Level& level : levels) deal(level);
    }

    std::uint32_t up(std::uint32_t unit) const { return up_[unit]; }
    std::uint32_t down(std::uint32_t unit) const { return down_[unit]; }

private:
    struct Item {
        std::uint32_t unit = 0;
        bool down = false;
        double cost = 0;
    };
    struct Level {
        std::vector<Item> steps = {};
        double cost = 0;
        std::uint32_t first = 0;
        std::uint32_t lanes = 1;
    };

    /// One for each, the others where they help most. Too few: neighbouring levels share.
    void give_lanes(std::vector<Level>& levels) const {
        const auto count = static_cast<std::uint32_t>(levels.size());
        // A rank whose input others read, and that gets nothing, has no step at all.
        if (count == 0) return;
        if (count >= lanes_) {
            for (std::uint32_t i = 0; i < count; ++i) levels[i].first = i * lanes_ / count;
            return;
        }
        for (std::uint32_t spare = lanes_ - count; spare > 0; --spare) {
            const auto slowest = std::ranges::max_element(levels, {}, [](const Level& level) {
                return level.lanes < level.steps.size() ? level.cost / level.lanes : -1;
            });
            if (slowest->lanes >= slowest->steps.size()) break;
            if (slowest->cost <= enough_ * slowest->lanes) break;
            ++slowest->lanes;
        }
        std::uint32_t first = 0;
        for (Level& level : levels) {
            level.first = std::exchange(first, first + level.lanes);
        }
    }

    /// The largest first, each to the lane that has least to do.
    void deal(Level& level) {
        std::ranges::stable_sort(level.steps, std::greater{}, &Item::cost);
        std::vector<double> loads(level.lanes);
        for (const Item& item : level.steps) {
            const auto least = std::ranges::min_element(loads);
            const auto lane = level.first + static_cast<std::uint32_t>(least - loads.begin());
            *least += item.cost;
            (item.down ? down_ : up_)[item.unit] = lane;
        }
    }

    std::uint32_t lanes_ = 1;
    double enough_ = 0;
    double busiest_ = 0;
    std::map<std::uint32_t, std::vector<Item>> levels_;
    std::vector<std::uint32_t> up_;
    std::vector<std::uint32_t> down_;
};

}  // namespace rondo
