// What a list of times says: the middle, how far the rest lies around it.
#pragma once

#include <vector>

namespace rondo::bench {

/// Median and quartiles. All 0 without values.
struct Spread {
    double low = 0;
    double median = 0;
    double high = 0;

    /// How far the quartiles lie apart, as a share of the median in percent. 0 without a median.
    double percent() const { return median > 0 ? 100 * (high - low) / median : 0; }
};
Spread spread_of(std::vector<double> values);

/// nccl-tests' summary of single iterations (-I); percentiles by nearest rank.
struct IterationStatistics {
    int skipped = 0;
    double minimum = 0, maximum = 0, average = 0, p50 = 0, p95 = 0, p99 = 0, deviation = 0;
    std::vector<double> times;  ///< all of them, skipped ones too

    double variation_percent() const { return average > 0 ? 100 * deviation / average : 0; }
};
IterationStatistics statistics_of(const std::vector<double>& times, int skipped);

}  // namespace rondo::bench
