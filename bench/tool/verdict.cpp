// One line at the end that a newcomer understands, and whether the demands were met.
#include "bench/tool/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace rondo::bench {
namespace {

/// Of all rows of one size: the first strategy that was asked for counts.
struct SizeSummary {
    bool fastest = true;
    bool compared = false;
    double limit_ratio = 0;
};

void add_half(SizeSummary& summary, const Half& half) {
    for (const PeerTime& peer : half.peers) {
        if (peer.from_log || peer.us.median == 0) continue;
        summary.compared = true;
        if (peer.us.median < half.us.median) summary.fastest = false;
    }
    const double ratio = half.limit_ratio();
    if (ratio > 0) {
        summary.limit_ratio =
            summary.limit_ratio == 0 ? ratio : std::min(summary.limit_ratio, ratio);
    }
}

std::map<std::uint64_t, SizeSummary> summaries_of(const Report& report) {
    std::map<std::uint64_t, SizeSummary> sizes;
    for (const Row& row : report.rows) {
        if (row.size == 0 || row.asked != report.rows.front().asked) continue;
        for (const Half* half : halves_of(row)) add_half(sizes[row.size], *half);
    }
    return sizes;
}

std::set<std::string> measured_peers(const Report& report) {
    std::set<std::string> names;
    for (const Row& row : report.rows) {
        for (const Half* half : halves_of(row)) {
            for (const PeerTime& peer : half->peers) {
                if (!peer.from_log && peer.us.median > 0) names.insert(peer.name);
            }
        }
    }
    return names;
}

std::string place_text(const std::map<std::uint64_t, SizeSummary>& sizes, std::size_t contestants) {
    const bool everywhere =
        std::ranges::all_of(sizes, [](const auto& size) { return size.second.fastest; });
    if (everywhere) return fmt::format("fastest of {} at every size", contestants);
    std::optional<std::uint64_t> from;
    for (auto size = sizes.rbegin(); size != sizes.rend() && size->second.fastest; ++size) {
        from = size->first;
    }
    if (from) {
        return fmt::format("fastest of {} from {} on", contestants,
                           bytes_text(static_cast<double>(*from)));
    }
    return fmt::format("not the fastest of {} at {}", contestants,
                       bytes_text(static_cast<double>(sizes.rbegin()->first)));
}

/// What a newcomer must know about figures that were taken beside other work; else nothing.
std::string doubt_of(const Report& report) {
    constexpr double too_far_apart = 50;  // percent
    std::vector<double> spreads;
    for (const Row& row : report.rows) {
        for (const Half* half : halves_of(row)) spreads.push_back(half->us.percent());
    }
    const double spread = spreads.empty() ? 0 : spread_of(spreads).median;
    if (spread < too_far_apart) return "";
    return fmt::format("; but rounds differ by {:.0f} %: the machine was busy, do it again",
                       spread);
}

}  // namespace

std::string verdict_of(const Report& report) {
    const std::int64_t wrong = report.wrong();
    if (wrong > 0) return fmt::format("WRONG RESULTS: {} elements", wrong);
    if (report.rows.empty()) return "";
    const auto sizes = summaries_of(report);
    std::vector<std::string> parts;
    const std::set<std::string> peers = measured_peers(report);
    if (!peers.empty() && !sizes.empty()) {
        parts.push_back(place_text(sizes, peers.size() + 1) +
                        fmt::format(" (beside {})", fmt::join(peers, ", ")));
    }
    if (!sizes.empty() && sizes.rbegin()->second.limit_ratio > 0) {
        parts.push_back(fmt::format("{:.2f} of the {} limit at {}",
                                    sizes.rbegin()->second.limit_ratio, report.header.limit_of,
                                    bytes_text(static_cast<double>(sizes.rbegin()->first))));
    }
    const bool checked = std::ranges::any_of(report.rows, [](const Row& row) {
        return std::ranges::any_of(halves_of(row),
                                   [](const Half* half) { return half->wrong.has_value(); });
    });
    const char* const right = checked ? "results are exact" : "results were not checked";
    if (parts.empty()) return fmt::format("Rondo's {}", right);
    return fmt::format("Rondo is {}; {}{}", fmt::join(parts, "; "), right, doubt_of(report));
}

std::vector<std::string> missed_demands(const Report& report, const Demands& demands) {
    std::vector<std::string> missed;
    for (const Row& row : report.rows) {
        for (const Half* half : halves_of(row)) {
            const char* const place =
                half == (row.in_place ? &*row.in_place : nullptr) ? "in place" : "out of place";
            const std::string where = fmt::format(
                "{} {}, {}", bytes_text(static_cast<double>(row.size)), row.type, place);
            if (demands.limit_ratio > 0 && half->limit_us() == 0) {
                missed.push_back(fmt::format("{}: no limit was measured", where));
            } else if (half->limit_ratio() < demands.limit_ratio) {
                missed.push_back(fmt::format("{}: {:.2f} of the limit, {:.2f} was asked", where,
                                             half->limit_ratio(), demands.limit_ratio));
            }
            for (const auto& [name, ratio] : demands.speedups) {
                const auto peer = std::ranges::find(half->peers, name, &PeerTime::name);
                if (peer == half->peers.end() || peer->us.median == 0) {
                    missed.push_back(fmt::format("{}: there is no time of {}", where, name));
                } else if (const double speedup = speedup_over(*peer, report, row, *half);
                           speedup < ratio) {
                    missed.push_back(fmt::format("{}: {:.2f} times as fast as {}, {:.2f} was asked",
                                                 where, speedup, name, ratio));
                }
            }
        }
    }
    return missed;
}

}  // namespace rondo::bench
