#include "communicator/call.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rondo::detail {
namespace {

/// Mixes numbers into one. Every bit of every number changes half of the result's.
class Digest {
public:
    void add(std::uint64_t value) {
        state_ = (state_ ^ value) * 0x9fb21c651e98df25;
        state_ ^= state_ >> 28;
        state_ *= 0xd6e8feb86659fd93;
        state_ ^= state_ >> 32;
    }
    std::uint64_t value() const { return state_; }

private:
    std::uint64_t state_ = 0xcbf29ce484222325;
};

std::uint64_t pair_digest(std::uint32_t from, std::uint32_t to, std::uint64_t count) {
    Digest digest;
    digest.add(std::uint64_t{from} << 32 | to);
    digest.add(count);
    return digest.value();
}

std::uint64_t even_part(const Call& call, std::uint32_t ranks) {
    switch (call.collective) {
        case Collective::all_gather:
        case Collective::reduce_scatter:
        case Collective::gather:
        case Collective::scatter:
        case Collective::all_to_all:
            return call.count / ranks;
        default:
            return call.count;
    }
}

std::string list_text(std::span<const std::uint64_t> counts) {
    constexpr std::size_t most = 16;
    const auto shown = counts.subspan(0, std::min(counts.size(), most));
    return fmt::format("{}{}", fmt::join(shown, " "), counts.size() > most ? " ..." : "");
}

}  // namespace

std::uint64_t input_count(const Call& call, std::uint32_t ranks, std::uint32_t rank) {
    switch (call.collective) {
        case Collective::all_gather:
        case Collective::gather:
            return call.counts.empty() ? call.count / ranks : call.counts[rank];
        case Collective::broadcast:
        case Collective::scatter:
            return rank == call.root ? call.count : 0;
        default:
            return call.count;
    }
}

std::uint64_t output_count(const Call& call, std::uint32_t ranks, std::uint32_t rank) {
    switch (call.collective) {
        case Collective::reduce_scatter:
        case Collective::scatter:
            return call.counts.empty() ? call.count / ranks : call.counts[rank];
        case Collective::gather:
            return rank == call.root ? call.count : 0;
        case Collective::all_to_all:
            return call.counts.empty()
                       ? call.count
                       : std::accumulate(call.receive_counts.begin(), call.receive_counts.end(),
                                         std::uint64_t{0});
        default:
            break;
    }
    const bool wanted = call.destinations.empty() ||
                        std::ranges::find(call.destinations, rank) != call.destinations.end();
    return wanted ? call.count : 0;
}

std::uint64_t largest_part(const Call& call, std::uint32_t ranks) {
    if (call.counts.empty()) return even_part(call, ranks);
    std::uint64_t largest = 0;
    for (const std::uint64_t count : call.counts) largest = std::max(largest, count);
    for (const std::uint64_t count : call.receive_counts) largest = std::max(largest, count);
    return largest;
}

std::uint64_t digest_of(const Call& call, std::uint64_t plan, std::span<const Segment> segments) {
    const bool pairs_differ = has_uneven_pairs(call);
    Digest digest;
    digest.add(plan);
    digest.add(pairs_differ ? ~std::uint64_t{0} : call.count);
    digest.add(static_cast<std::uint64_t>(call.collective) |
               static_cast<std::uint64_t>(call.type) << 8 |
               static_cast<std::uint64_t>(call.op) << 16 | std::uint64_t{is_uneven(call)} << 24 |
               std::uint64_t{call.root} << 32);
    for (const std::uint32_t rank : call.destinations) digest.add(rank);
    if (!pairs_differ) {
        for (const std::uint64_t count : call.counts) digest.add(count);
    }
    for (const Segment& segment : segments) digest.add(segment.count);
    return digest.value();
}

std::uint64_t balance_of(const Call& call, std::uint32_t rank) {
    std::uint64_t balance = 0;
    for (std::uint32_t peer = 0; peer < call.counts.size(); ++peer) {
        balance += pair_digest(rank, peer, call.counts[peer]);
        balance -= pair_digest(peer, rank, call.receive_counts[peer]);
    }
    return balance;
}

std::string describe(const Call& call) {
    std::string text =
        fmt::format("{} of {} x {}", to_string(call.collective), call.count, to_string(call.type));
    if (!call.counts.empty()) text += fmt::format(" ({})", list_text(call.counts));
    if (!call.receive_counts.empty()) {
        text += fmt::format(" for ({})", list_text(call.receive_counts));
    }
    if (reduces(call.collective)) text += fmt::format(", {}", to_string(call.op));
    if (has_root(call.collective)) text += fmt::format(", root {}", call.root);
    if (!call.destinations.empty() && call.destinations.size() > 1) {
        text += fmt::format(", to ranks {}", fmt::join(call.destinations, " "));
    }
    if (call.schedule != 0) {
        text += fmt::format(", schedule {}", call.schedule);
    } else if (!(call.strategy == Strategy())) {
        text += fmt::format(", by {}", to_string(call.strategy));
    }
    return text;
}

}  // namespace rondo::detail
