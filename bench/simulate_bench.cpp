// How much of the exact bound each collective reaches in simulation: every preset, and every
// allocation of 3 to 8 GPUs of a DGX-1V; how long plans take. Prints tables for docs/simulator.md;
// takes minutes. What was chosen is run to its last chunk, each event for itself, so that no table
// rests on what the planner leaves out.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "strategy/planner.hpp"

namespace {

using namespace rondo;

constexpr std::uint64_t mebibyte = 1 << 20;
constexpr Collective collectives[] = {Collective::all_reduce, Collective::reduce_scatter,
                                      Collective::all_gather, Collective::broadcast,
                                      Collective::reduce,     Collective::all_to_all};

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Result {
    double share = 0;
    double milliseconds = 0;  ///< of the first plan
    std::string text;
};

Request request_of(Collective collective, std::uint64_t bytes, const Strategy& strategy) {
    return {.collective = collective, .count = bytes, .destinations = {}, .strategy = strategy};
}

Result measure(const Planner& planner, const Request& wanted, bool exact) {
    Request request = wanted;
    // As nccl-tests counts: what a rank sends.
    if (request.collective == Collective::all_to_all) request.count *= planner.ranks();
    if (request.collective == Collective::reduce) request.destinations = {request.root};
    const double bound = planner.bound(request);
    const auto start = Clock::now();
    Result result;
    try {
        const auto plan = planner.plan(request);
        result.milliseconds = milliseconds_since(start);
        SimulationOptions options;
        if (exact) options.most_chunks = UINT32_MAX;
        if (exact && planner.ranks() <= 16) options.coarseness = 0;
        const double seconds = planner.simulate(*plan, request, options).seconds;
        result.share = bound == 0 ? 0 : static_cast<double>(request.bytes()) / seconds / bound;
        result.text = fmt::format("{} x{} {}K", to_string(plan->strategy), plan->partition.replicas,
                                  plan->partition.slot_bytes >> 10);
    } catch (const Error& error) {
        result.text = error.what();
    }
    return result;
}

void print_presets(const std::vector<std::string>& presets, const Strategy& strategy,
                   const PlannerOptions& options, bool exact, bool detailed) {
    fmt::print("| share of the bound, 256 MiB / 1 GiB |");
    for (const Collective collective : collectives) fmt::print(" {} |", to_string(collective));
    fmt::print("\n|---|---|---|---|---|---|\n");
    for (const std::string& name : presets) {
        const Planner planner(load_topology(name), options);
        fmt::print("| {} |", name);
        std::string details;
        for (const Collective collective : collectives) {
            const Result small =
                measure(planner, request_of(collective, 256 * mebibyte, strategy), exact);
            const Result large =
                measure(planner, request_of(collective, 1024 * mebibyte, strategy), exact);
            fmt::print(" {:.3f} / {:.3f} |", small.share, large.share);
            details += fmt::format("    {:<15} {:<32} {:7.1f} ms   {:<32} {:7.1f} ms\n",
                                   to_string(collective), small.text, small.milliseconds,
                                   large.text, large.milliseconds);
            std::fflush(stdout);
        }
        fmt::print("\n{}", detailed ? details : "");
        std::fflush(stdout);
    }
}

/// NVLink alone where it joins the GPUs, else all links.
void print_subsets(const Strategy& strategy, bool exact) {
    const Topology topology = load_topology("dgx1_v100");
    fmt::print("\nDGX-1V, allocations of 3 to 8 GPUs: mean (worst) share of the bound\n\n");
    fmt::print("| | 256 MiB | 1 GiB |\n|---|---|---|\n");
    for (const Collective collective : collectives) {
        double sum[2] = {0, 0};
        double worst[2] = {1e300, 1e300};
        int count = 0;
        for (unsigned mask = 0; mask < 256; ++mask) {
            if (std::popcount(mask) < 3) continue;
            PlannerOptions options{.fabric_only = true};
            for (int gpu = 0; gpu < 8; ++gpu) {
                if (mask >> gpu & 1) options.gpus.push_back(gpu);
            }
            options.fabric_only = Planner(topology, options).bound({.count = 1}) != 0;
            const Planner planner(topology, options);
            ++count;
            for (int i = 0; i < 2; ++i) {
                const std::uint64_t bytes = (i == 0 ? 256 : 1024) * mebibyte;
                const double share =
                    measure(planner, request_of(collective, bytes, strategy), exact).share;
                sum[i] += share;
                worst[i] = std::min(worst[i], share);
            }
        }
        fmt::print("| {}, {} allocations | {:.3f} ({:.3f}) | {:.3f} ({:.3f}) |\n",
                   to_string(collective), count, sum[0] / count, worst[0], sum[1] / count,
                   worst[1]);
        std::fflush(stdout);
    }
}

/// Of one plan, when nothing is known yet but the trees.
void print_times(const std::vector<std::string>& presets) {
    fmt::print("\n| milliseconds per plan: trees, then mean and slowest of 1 KiB to 1 GiB |");
    for (const Collective collective : collectives) fmt::print(" {} |", to_string(collective));
    fmt::print("\n|---|---|---|---|---|---|\n");
    for (const std::string& name : presets) {
        fmt::print("| {} |", name);
        const Topology topology = load_topology(name);
        for (const Collective collective : collectives) {
            const Planner planner(topology, {});
            const auto start = Clock::now();
            planner.bound({.collective = collective});
            const double trees = milliseconds_since(start);
            double slowest = 0;
            double sum = 0;
            int count = 0;
            for (std::uint64_t bytes = 1 << 10; bytes <= 1 << 30; bytes *= 4) {
                const double time =
                    measure(planner, request_of(collective, bytes, {}), false).milliseconds;
                slowest = std::max(slowest, time);
                sum += time;
                ++count;
            }
            fmt::print(" {:.1f}, {:.1f}, {:.1f} |", trees, sum / count, slowest);
            std::fflush(stdout);
        }
        fmt::print("\n");
    }
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Shares of the bound in simulation");
    std::vector<std::string> presets;
    std::string strategy = "automatic";
    bool exact = false;
    bool detailed = false;
    bool subsets = false;
    bool times = false;
    app.add_option("presets", presets, "presets; all");
    app.add_option("--strategy", strategy, "instead of automatic");
    PlannerOptions options;
    std::uint64_t scratch = options.scratch_bytes >> 20;
    app.add_option("--scratch", scratch, "MiB per rank")->capture_default_str();
    app.add_flag("--exact", exact, "run every chunk and every event");
    app.add_flag("--details", detailed, "what was chosen, and how long that took");
    app.add_flag("--subsets", subsets, "all allocations of a DGX-1V instead");
    app.add_flag("--times", times, "how long plans take instead");
    CLI11_PARSE(app, argc, argv);
    try {
        if (presets.empty()) presets = preset_names();
        if (subsets) {
            print_subsets(parse_strategy(strategy), exact);
        } else if (times) {
            print_times(presets);
        } else {
            options.scratch_bytes = scratch << 20;
            print_presets(presets, parse_strategy(strategy), options, exact, detailed);
        }
    } catch (const Error& error) {
        fmt::print(stderr, "simulate_bench: {}\n", error.what());
        return 1;
    }
}
