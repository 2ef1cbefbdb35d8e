// The cheapest candidate by simulation, and the reason in words.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "strategy/trials.hpp"

namespace rondo {
namespace {

std::string time_text(double seconds) {
    return seconds < 1e-3 ? fmt::format("{:.1f} us", seconds * 1e6)
                          : fmt::format("{:.2f} ms", seconds * 1e3);
}

/// Those that can be done first, the fastest first; equal ones stay in their order.
bool is_better(const Candidate& a, const Candidate& b) {
    if (a.problem.empty() != b.problem.empty()) return a.problem.empty();
    return a.seconds < b.seconds;
}

/// The best way to cut each strategy, the best strategy first.
std::vector<Candidate> best_of_each(std::vector<Candidate> candidates) {
    std::ranges::stable_sort(candidates, is_better);
    std::vector<Candidate> best;
    for (Candidate& candidate : candidates) {
        const bool known = std::ranges::any_of(
            best, [&](const Candidate& other) { return other.strategy == candidate.strategy; });
        if (!known) best.push_back(std::move(candidate));
    }
    return best;
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

std::vector<Candidate> Planner::evaluate(const Task& task, std::vector<Trial> trials, bool all) {
    for (auto& [candidate, simulator] : trials) {
        if (simulator != nullptr) candidate.seconds = simulator->least_seconds(task.bytes);
    }
    std::ranges::stable_sort(trials, is_better, &Trial::candidate);
    double best = 1e300;
    std::vector<Candidate> result;
    for (auto& [candidate, simulator] : trials) {
        if (simulator != nullptr && (all || candidate.seconds < best * worth_looking)) {
            const Simulation run = simulator->run({.bytes = task.bytes,
                                                   .slot_bytes = candidate.cutting.slot_bytes,
                                                   .most_seconds = all ? 1e300 : best});
            candidate.seconds = run.seconds;
            candidate.simulated = !run.gave_up;
            best = std::min(best, run.seconds);
        }
        result.push_back(std::move(candidate));
    }
    // What was not simulated is not better than the best that was.
    for (Candidate& candidate : result) {
        if (!candidate.simulated && candidate.problem.empty()) {
            candidate.seconds = std::max(candidate.seconds, best * (1 + 1e-9));
        }
    }
    return best_of_each(std::move(result));
}

Choice Planner::choose(const Task& task, bool all) const {
    std::vector<Trial> list;
    for (const Strategy& strategy : strategies(task)) {
        for (Trial& trial : trials(strategy, task)) list.push_back(std::move(trial));
    }
    Choice choice{.candidates = evaluate(task, std::move(list), all)};
    if (!choice.chosen().problem.empty()) {
        throw InvalidArgument(fmt::format("no strategy can do it: {}", choice.chosen().problem));
    }
    choice.reason = explain_choice(*this, task, choice);
    return choice;
}

Choice Planner::choose(const Task& task, const Strategy& strategy) const {
    Choice choice{.candidates = evaluate(task, trials(strategy, task), false)};
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
