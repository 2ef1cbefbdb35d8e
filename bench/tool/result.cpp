// What a run of rondo-bench found, as one value.
#include "bench/tool/result.hpp"

#include <algorithm>

namespace rondo::bench {

double Half::limit_us() const {
    double best = 0;
    for (const Spread& limit : {loop_us, hand_written_us, link_us}) {
        if (limit.median > 0) best = best == 0 ? limit.median : std::min(best, limit.median);
    }
    return best;
}

double Half::limit_ratio() const {
    return us.median > 0 ? limit_us() / us.median : 0;
}

double speedup_over(const PeerTime& peer, const Report& report, const Row& row, const Half& half) {
    const bool simulated = peer.from_log && report.header.virtual_gpus;
    const double own = simulated ? row.simulated_us : half.us.median;
    return own > 0 ? peer.us.median / own : 0;
}

std::vector<const Half*> halves_of(const Row& row) {
    std::vector<const Half*> halves;
    if (row.out_of_place) halves.push_back(&*row.out_of_place);
    if (row.in_place) halves.push_back(&*row.in_place);
    return halves;
}

std::int64_t Report::wrong() const {
    std::int64_t sum = 0;
    for (const Row& row : rows) {
        for (const Half* half : halves_of(row)) sum += half->wrong.value_or(0);
    }
    return sum;
}

double Report::average_bus_bw() const {
    double sum = 0;
    std::size_t count = 0;
    for (const Row& row : rows) {
        for (const Half* half : halves_of(row)) {
            sum += half->bus_bw;
            ++count;
        }
    }
    return count == 0 ? 0 : sum / static_cast<double>(count);
}

bool Report::bus_bw_failed() const {
    constexpr double tolerance = 0.9;
    return least_bus_bw >= 0 && average_bus_bw() < tolerance * least_bus_bw;
}

}  // namespace rondo::bench
