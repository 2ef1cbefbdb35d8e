// The packing problems that an analysis leads to, in integers.
#include "topology/forest/scaling.hpp"

#include <numeric>

namespace rondo::forest {
namespace {

/// As large as 128 bits allow.
Units fineness(const Packing& packing) {
    constexpr Units small = 720'720;  // divisible by 1 .. 16
    constexpr Units room = Units{1} << 110;
    const Units sum =
        std::accumulate(packing.capacity.begin(), packing.capacity.end(), packing.total);
    if (sum < room / (small * small)) return small * small;
    return sum < room / small ? small : 1;
}

}  // namespace

ScaledPacking rooted_packing(const Analysis& analysis) {
    const auto [numerator, denominator] = analysis.scale;
    ScaledPacking scaled{{.network = &analysis.network(), .rooted = true},
                         to_rational(denominator * analysis.demand.phases)};
    for (const Edge& edge : analysis.network().edges) {
        scaled.packing.capacity.insert(scaled.packing.capacity.end(), 2,
                                       denominator * edge.capacity);
    }
    for (const Units share : analysis.shares) {
        scaled.packing.roots.push_back(numerator * share);
        scaled.packing.total += numerator * share;
    }
    return scaled;
}

std::optional<ScaledPacking> free_packing(const Analysis& analysis) {
    constexpr unsigned most_bits = 50;
    if (msb(denominator(analysis.bound.throughput)) > most_bits) return std::nullopt;
    const Units unit = static_cast<Units>(denominator(analysis.bound.throughput));
    ScaledPacking scaled{{.network = &analysis.network(), .rooted = false}, to_rational(unit)};
    for (const Edge& edge : analysis.network().edges) {
        scaled.packing.capacity.push_back(unit * edge.capacity);
    }
    scaled.packing.total = static_cast<Units>(numerator(analysis.bound.throughput));
    return scaled;
}

ScaledPacking refined(ScaledPacking coarse) {
    const Units factor = fineness(coarse.packing);
    for (Units& capacity : coarse.packing.capacity) capacity *= factor;
    for (Units& root : coarse.packing.roots) root *= factor;
    coarse.packing.total *= factor;
    coarse.unit *= to_rational(factor);
    return coarse;
}

}  // namespace rondo::forest
