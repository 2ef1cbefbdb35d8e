// Ring orders and halves of a machine, by how wide its hops are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "topology/simulate/routes.hpp"

namespace rondo {

/// How wide the hop between each two ranks is, both ways, in any unit; 0: there is none.
class HopWidths {
public:
    explicit HopWidths(std::uint32_t ranks) : ranks_(ranks), widths_(ranks * ranks) {}
    explicit HopWidths(const Routing& routing);

    std::uint32_t ranks() const { return ranks_; }
    void set(std::uint32_t from, std::uint32_t to, double width) {
        widths_[from * ranks_ + to] = width;
    }
    double operator()(std::uint32_t a, std::uint32_t b) const {
        return std::min(widths_[a * ranks_ + b], widths_[b * ranks_ + a]);
    }

private:
    std::uint32_t ranks_;
    std::vector<double> widths_;
};

/// An order of the ranks whose narrowest hop, the last to the first included, is as wide as a
/// bounded search finds; among those, wide hops come first.
std::vector<std::uint32_t> find_ring_order(const HopWidths& widths);

/// Which half of the machine each rank is in, 0 or 1: ranks that are well connected stay together.
std::vector<std::uint32_t> find_halves(const HopWidths& widths);

}  // namespace rondo
