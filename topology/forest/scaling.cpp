// The packing problems that an analysis leads to, in integers.
#include "topology/forest/scaling.hpp"

#include <numeric>

#include "topology/forest/cut.hpp"

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

/// Of the throughput that even trees must reach.
constexpr Units least_percent = 97;

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

std::optional<ScaledPacking> even_packing(const ScaledPacking& exact, Units most_units) {
    Units common = 0;
    for (const Units root : exact.packing.roots) common = greatest_common_divisor(common, root);
    CutOracle oracle(*exact.packing.network);
    for (Units cuts = 1; exact.packing.total / common * cuts <= most_units; ++cuts) {
        for (Units percent = 100; percent >= least_percent; --percent) {
            ScaledPacking even = exact;
            // What is left of a link beyond whole units stays empty.
            for (Units& capacity : even.packing.capacity) {
                capacity = capacity * cuts * 100 / (common * percent);
            }
            for (Units& root : even.packing.roots) root = root / common * cuts;
            even.packing.total = even.packing.total / common * cuts;
            even.unit *= to_rational(cuts * 100) / to_rational(common * percent);
            if (!oracle.violated(even.packing)) return even;
        }
    }
    return std::nullopt;
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
