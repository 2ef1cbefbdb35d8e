// What a list of times says: the middle, how far the rest lies around it.
#include "bench/tool/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace rondo::bench {
namespace {

/// Between the two nearest values, of a sorted list.
double quantile(const std::vector<double>& sorted, double share) {
    const double place = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

double nearest_rank(const std::vector<double>& sorted, std::size_t percent) {
    const std::size_t rank = (sorted.size() * percent + 99) / 100;
    return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

}  // namespace

Spread spread_of(std::vector<double> values) {
    if (values.empty()) return {};
    std::ranges::sort(values);
    return {quantile(values, 0.25), quantile(values, 0.5), quantile(values, 0.75)};
}

IterationStatistics statistics_of(const std::vector<double>& times, int skipped) {
    IterationStatistics result{.skipped = skipped, .times = times};
    std::vector<double> sorted(times.begin() + std::min<std::ptrdiff_t>(skipped, std::ssize(times)),
                               times.end());
    if (sorted.empty()) return result;
    std::ranges::sort(sorted);
    result.minimum = sorted.front();
    result.maximum = sorted.back();
    result.p50 = sorted[sorted.size() / 2];
    result.p95 = nearest_rank(sorted, 95);
    result.p99 = nearest_rank(sorted, 99);
    const auto size = static_cast<double>(sorted.size());
    result.average = std::accumulate(sorted.begin(), sorted.end(), 0.0) / size;
    double squares = 0;
    for (const double time : sorted) squares += (time - result.average) * (time - result.average);
    result.deviation = std::sqrt(squares / size);
    return result;
}

}  // namespace rondo::bench
