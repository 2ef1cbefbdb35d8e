// What the numbers of a plan mean.
#include "strategy/explain.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rondo {
namespace {

std::string time_text(double seconds) {
    return seconds < 1e-3 ? fmt::format("{:.1f} us", seconds * 1e6)
                          : fmt::format("{:.2f} ms", seconds * 1e3);
}

std::string link_name(LinkKind kind) {
    switch (kind) {
        case LinkKind::nvlink:
            return "NVLink";
        case LinkKind::xgmi:
            return "XGMI";
        case LinkKind::pci:
            return "PCI Express";
        case LinkKind::inter_socket:
            return "the link between the sockets";
        case LinkKind::network:
            return "the network";
        case LinkKind::memory:
            return "memory";
        case LinkKind::chip_to_chip:
            return "a chip-to-chip link";
    }
    return "?";
}

/// The narrowest link of the first of a path's routes.
const Link& narrowest(const Routing& routing, const Path& path) {
    const auto& links = routing.topology().links();
    const Link* found = nullptr;
    for (const int index : path.routes.front().links) {
        const Link& link = links[static_cast<std::size_t>(index)];
        if (found == nullptr ||
            link.bandwidth(routing.model()) < found->bandwidth(routing.model())) {
            found = &link;
        }
    }
    return *found;
}

/// The hops that a ring uses: closed, or open for reduce and broadcast.
struct RingHops {
    std::vector<int> gpus = {};
    std::size_t narrowest = 0;  ///< from here to the next
    double bandwidth = 1e300;
    bool joined = true;
};

bool is_open(Collective collective) {
    return collective == Collective::reduce || collective == Collective::broadcast;
}

RingHops ring_hops(const Planner& planner, const Request& request) {
    RingHops hops;
    const Routing& routing = *planner.machine().routing();
    const auto order = planner.machine().ring_order_from(request.root);
    for (const std::uint32_t rank : order) hops.gpus.push_back(routing.gpus()[rank]);
    const std::size_t count = order.size() - (is_open(request.collective) ? 1 : 0);
    for (std::size_t i = 0; i < count; ++i) {
        const double width = routing.bandwidth(order[i], order[(i + 1) % order.size()]);
        if (width == 0) hops.joined = false;
        if (width < hops.bandwidth) {
            hops.bandwidth = width;
            hops.narrowest = i;
        }
    }
    return hops;
}

/// What limits a ring here, when it loses. Bytes of the message per second that its narrowest hop
/// allows: each hop carries the whole message in reduce and broadcast, all but one slice of it in
/// reduce_scatter and all_gather, and that twice in all_reduce.
std::string ring_problem(const Planner& planner, const Request& request, const Plan& plan) {
    const bool known = std::ranges::any_of(plan.candidates, [](const PlanCandidate& candidate) {
        return candidate.strategy == Strategy::ring() && candidate.problem.empty();
    });
    if (!known || plan.strategy == Strategy::ring() || planner.ranks() < 3) return "";
    const RingHops hops = ring_hops(planner, request);
    if (!hops.joined) return " A ring is impossible: no order of the GPUs joins each to the next.";
    const double limit = hops.bandwidth / bus_factor(request.collective, planner.ranks());
    const double bound = planner.bound(request);
    if (bound <= limit * 1.02) {
        const std::uint32_t turns = request.collective == Collective::all_reduce ? 2 : 1;
        return fmt::format(
            " A ring's links could carry as much, but data takes {} hops one after the other.",
            turns * (planner.ranks() - 1));
    }
    const Routing& routing = *planner.machine().routing();
    const auto order = planner.machine().ring_order_from(request.root);
    const std::size_t next = (hops.narrowest + 1) % order.size();
    const Path* const path = routing.path(order[hops.narrowest], order[next]);
    return fmt::format(
        " A ring (best order {}) is limited by its narrowest hop, GPU {} to GPU {}: {:.4g} GB/s "
        "({}), so no such ring exceeds {:.4g} GB/s; several trees together reach up to {:.4g} "
        "GB/s.",
        fmt::join(hops.gpus, "-"), hops.gpus[hops.narrowest], hops.gpus[next], hops.bandwidth / 1e9,
        link_name(narrowest(routing, *path).kind), limit / 1e9, bound / 1e9);
}

/// How far the links are used, and what else takes the time.
std::string share_text(const Planner& planner, const Request& request, const Plan& plan) {
    const double bound = planner.bound(request);
    if (bound == 0 || plan.seconds == 0) return "";
    const double share = static_cast<double>(request.bytes()) / plan.seconds / bound;
    std::string text = fmt::format(" That is {:.0f} % of what the links allow for {} ({:.4g} GB/s)",
                                   share * 100, to_string(request.collective), bound / 1e9);
    if (share < 0.5) text += "; most of the time goes to the launch and to hops, not to bytes";
    return text + ".";
}

}  // namespace

std::string explain_plan(const Planner& planner, const Request& request, const Plan& plan) {
    std::string text =
        fmt::format("{} takes {}", to_string(plan.strategy), time_text(plan.seconds));
    if (plan.candidates.size() > 1 && plan.candidates[1].problem.empty()) {
        const PlanCandidate& second = plan.candidates[1];
        text += fmt::format(", {:.2f} times as fast as the runner-up {} ({}{})",
                            second.seconds / plan.seconds, to_string(second.strategy),
                            second.simulated ? "" : "at least ", time_text(second.seconds));
    }
    const auto tried = std::ranges::count_if(
        plan.candidates, [](const PlanCandidate& candidate) { return candidate.problem.empty(); });
    text += request.strategy.is_automatic()
                ? fmt::format(", the fastest of {} strategies by simulation.", tried)
                : fmt::format("; {} was asked for.", to_string(request.strategy));
    return text + share_text(planner, request, plan) +
           (request.strategy.is_automatic() ? ring_problem(planner, request, plan) : "");
}

}  // namespace rondo
