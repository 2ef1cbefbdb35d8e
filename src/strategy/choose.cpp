// The cheapest candidate by simulation, and the reason in words.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "strategy/planner.hpp"

namespace rondo {
namespace {

std::string time_text(double seconds) {
    return seconds < 1e-3 ? fmt::format("{:.1f} us", seconds * 1e6)
                          : fmt::format("{:.2f} ms", seconds * 1e3);
}

/// Those that can be done first, the fastest first; equal ones stay in their order.
void sort_by_time(std::vector<Candidate>& candidates) {
    std::ranges::stable_sort(candidates, [](const Candidate& a, const Candidate& b) {
        if (a.problem.empty() != b.problem.empty()) return a.problem.empty();
        return a.seconds < b.seconds;
    });
}

/// The best way to cut each strategy.
void keep_best(std::vector<Candidate>& candidates) {
    std::vector<Candidate> best;
    for (Candidate& candidate : candidates) {
        const bool known = std::ranges::any_of(
            best, [&](const Candidate& other) { return other.strategy == candidate.strategy; });
        if (!known) best.push_back(std::move(candidate));
    }
    candidates = std::move(best);
}

/// What can be faster than the best by less than this is not simulated.
constexpr double worth_looking = 0.985;

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

}  // namespace

std::uint64_t size_class(std::uint64_t bytes) {
    if (bytes <= 8) return 8;
    const std::uint64_t step = std::bit_floor(bytes - 1) / 8;
    return (bytes + step - 1) / step * step;
}

void Planner::evaluate(const Task& task, std::vector<Candidate>& candidates, bool all) const {
    for (Candidate& candidate : candidates) {
        if (!candidate.problem.empty()) continue;
        try {
            candidate.seconds = least_seconds(schedule(task, candidate),
                                              routing_for(task, candidate.strategy), task.bytes);
        } catch (const Error& error) {
            candidate.problem = error.what();
        }
    }
    sort_by_time(candidates);
    double best = 1e300;
    for (Candidate& candidate : candidates) {
        if (!candidate.problem.empty()) continue;
        if (!all && candidate.seconds >= best * worth_looking) continue;
        candidate.seconds = simulate(task, candidate).seconds;
        candidate.simulated = true;
        best = std::min(best, candidate.seconds);
    }
    // What was not simulated is not better than the best that was.
    for (Candidate& candidate : candidates) {
        if (!candidate.simulated)
            candidate.seconds = std::max(candidate.seconds, best * (1 + 1e-9));
    }
    sort_by_time(candidates);
    keep_best(candidates);
}

Choice Planner::choose(const Task& task, bool all) const {
    Choice choice{.candidates = candidates(task)};
    evaluate(task, choice.candidates, all);
    if (!choice.chosen().problem.empty()) {
        throw InvalidArgument(fmt::format("no strategy can do it: {}", choice.chosen().problem));
    }
    choice.reason = explain_choice(*this, task, choice);
    return choice;
}

Choice Planner::choose(const Task& task, const Strategy& strategy) const {
    Choice choice{.candidates = cuttings(strategy, task)};
    evaluate(task, choice.candidates, false);
    if (!choice.chosen().problem.empty()) throw InvalidArgument(choice.chosen().problem);
    choice.reason = fmt::format("{} was asked for.", to_string(strategy));
    return choice;
}

namespace {

/// What limits a ring here, when it loses.
std::string ring_problem(const Planner& planner, const Task& task, const Choice& choice) {
    if (choice.chosen().strategy == Strategy::ring() || planner.ranks() < 3) return "";
    const Routing& routing = planner.routing();
    const auto& order = planner.ring_order();
    double least = 1e300;
    std::size_t at = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        const double width = routing.bandwidth(order[i], order[(i + 1) % order.size()]);
        if (width < least) {
            least = width;
            at = i;
        }
    }
    const Path* const path = routing.path(order[at], order[(at + 1) % order.size()]);
    std::vector<int> gpus;
    for (const std::uint32_t rank : order) gpus.push_back(routing.gpus()[rank]);
    if (path == nullptr) {
        return fmt::format(" A ring is impossible: no order of the GPUs joins each to the next.");
    }
    const double limit = least / bus_factor(task.collective, planner.ranks());
    const double bound = planner.bound(task);
    if (bound <= limit * 1.02) {
        return fmt::format(
            " A ring could carry as much, but a part of the message takes {} hops "
            "one after the other.",
            task.collective == Collective::all_reduce ? 2 * planner.ranks() - 2
                                                      : planner.ranks() - 1);
    }
    std::string text = fmt::format(
        " A ring (best order {}) sends everything over each of its hops, and the narrowest, GPU {} "
        "to GPU {}, has {:.4g} GB/s ({}), so no such ring exceeds {:.4g} GB/s",
        fmt::join(gpus, "-"), gpus[at], gpus[(at + 1) % gpus.size()], least / 1e9,
        link_name(narrowest(routing, *path).kind), limit / 1e9);
    return text + fmt::format(
                      "; trees are not bound to that hop: together they reach up to {:.4g} "
                      "GB/s.",
                      bound / 1e9);
}

}  // namespace

std::string explain_choice(const Planner& planner, const Task& task, const Choice& choice) {
    const Candidate& best = choice.chosen();
    std::string text =
        fmt::format("{} takes {}", to_string(best.strategy), time_text(best.seconds));
    if (choice.candidates.size() > 1 && choice.candidates[1].problem.empty()) {
        const Candidate& second = choice.candidates[1];
        text += fmt::format(", {:.2f} times as fast as the runner-up {} ({}{})",
                            second.seconds / best.seconds, to_string(second.strategy),
                            second.simulated ? "" : "at least ", time_text(second.seconds));
    }
    text += fmt::format(", the fastest of {} strategies by simulation.", choice.candidates.size());
    return text + ring_problem(planner, task, choice);
}

}  // namespace rondo
