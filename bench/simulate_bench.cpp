// How much of the exact bound an all_reduce reaches in simulation, by strategy: every preset, and
// every allocation of 3 to 8 GPUs of a DGX-1V; how long a choice takes and how good it is. Prints
// tables; takes minutes. What was chosen is run to its last chunk, each event for itself, so that
// no table rests on what the choice leaves out.
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

constexpr std::uint64_t sizes[] = {256ull << 20, 1024ull << 20};

/// Every chunk, every event.
double exact_seconds(const Planner& planner, const Task& task, const Candidate& candidate) {
    return simulate(planner.schedule(task, candidate),
                    planner.routing_for(task, candidate.strategy),
                    {.bytes = task.bytes,
                     .slot_bytes = candidate.cutting.slot_bytes,
                     .most_chunks = UINT32_MAX,
                     .coarseness = 0})
        .seconds;
}

double share(const Planner& planner, const Strategy& strategy, std::uint64_t bytes) {
    const Task task{.bytes = bytes};
    try {
        const Choice choice = planner.choose(task, strategy);
        return static_cast<double>(bytes) / exact_seconds(planner, task, choice.chosen()) /
               planner.bound(task);
    } catch (const Error&) {
        return 0;
    }
}

void print_presets() {
    fmt::print("share of the bound      256 MiB: forest  ring  hierarchical   1 GiB: forest\n");
    for (const std::string& name : preset_names()) {
        const Topology topology = load_topology(name);
        const Planner planner(topology, {});
        const Strategy hierarchical = Strategy::hierarchical_copy(2 * planner.ranks());
        fmt::print("  {:<22} {:16.3f} {:5.3f} {:13.3f} {:15.3f}\n", name,
                   share(planner, Strategy::forest(), sizes[0]),
                   share(planner, Strategy::ring(), sizes[0]),
                   share(planner, hierarchical, sizes[0]),
                   share(planner, Strategy::forest(), sizes[1]));
    }
}

struct Summary {
    double sum = 0;
    double worst = 1e300;
    int count = 0;

    void add(double value) {
        sum += value;
        worst = std::min(worst, value);
        ++count;
    }
    std::string text() const { return fmt::format("{:.3f} ({:.3f})", sum / count, worst); }
};

/// NVLink alone where it joins the GPUs, else all links.
void print_subsets() {
    const Topology topology = load_topology("dgx1_v100");
    Summary forest[2];
    Summary ring;
    Summary hierarchical;
    int reached[2] = {0, 0};
    for (unsigned mask = 0; mask < 256; ++mask) {
        if (std::popcount(mask) < 3) continue;
        RoutingOptions options;
        for (int gpu = 0; gpu < 8; ++gpu) {
            if (mask >> gpu & 1) options.gpus.push_back(gpu);
        }
        options.fabric_only = true;
        if (Planner(topology, options).bound({.bytes = 1}) == 0) options.fabric_only = false;
        const Planner planner(topology, options);
        for (int i = 0; i < 2; ++i) {
            const double value = share(planner, Strategy::forest(), sizes[i]);
            forest[i].add(value);
            reached[i] += value >= (i == 0 ? 0.90 : 0.95) ? 1 : 0;
        }
        // Rings and hierarchies may use PCI where NVLink does not lead; the bound is the forest's.
        RoutingOptions any = options;
        any.fabric_only = false;
        const Planner with_pci(topology, any);
        const Task task{.bytes = sizes[0]};
        const double bound = planner.bound(task);
        for (const auto& [strategy, summary] :
             {std::pair{Strategy::ring(), &ring},
              {Strategy::hierarchical_copy(2 * planner.ranks()), &hierarchical}}) {
            const double seconds = with_pci.choose(task, strategy).chosen().seconds;
            summary->add(static_cast<double>(task.bytes) / seconds / bound);
        }
    }
    fmt::print("\nDGX-1V, {} allocations of 3 to 8 GPUs: mean (worst) share of the bound\n",
               ring.count);
    fmt::print("  forest 256 MiB  {}, {} of them >= 0.90\n", forest[0].text(), reached[0]);
    fmt::print("  forest 1 GiB    {}, {} of them >= 0.95\n", forest[1].text(), reached[1]);
    fmt::print("  ring 256 MiB    {}\n", ring.text());
    fmt::print("  hierarchical    {}\n", hierarchical.text());
}

constexpr Collective collectives[] = {Collective::all_reduce, Collective::reduce,
                                      Collective::broadcast, Collective::reduce_scatter,
                                      Collective::all_gather};

/// Of one choice, when nothing is known yet but the trees.
void print_times() {
    fmt::print("\ntime of a choice, milliseconds: trees, then the slowest of 1 KiB to 1 GiB\n");
    for (const std::string& name : preset_names()) {
        const Topology topology = load_topology(name);
        if (topology.gpu_count() > 16) continue;
        RoutingOptions options{.fabric_only = true};
        if (!Routing(topology, options).joins_all()) options.fabric_only = false;
        std::string text;
        for (const Collective collective : collectives) {
            double trees = 0;
            double slowest = 0;
            for (std::uint64_t bytes = 1 << 10; bytes <= 1 << 30; bytes *= 16) {
                const Planner planner(topology, options);
                const auto begin = std::chrono::steady_clock::now();
                planner.bound({.collective = collective});
                const auto middle = std::chrono::steady_clock::now();
                planner.choose({.collective = collective, .bytes = bytes});
                const auto end = std::chrono::steady_clock::now();
                using Milliseconds = std::chrono::duration<double, std::milli>;
                trees = std::max(trees, Milliseconds(middle - begin).count());
                slowest = std::max(slowest, Milliseconds(end - middle).count());
            }
            text += fmt::format("  {} {:.1f} + {:.1f}", to_string(collective), trees, slowest);
        }
        fmt::print("  {:<18}{}\n", name, text);
    }
}

/// How much slower the choice for a size's class is than the best candidate for the very size.
double regret(const Planner& planner, const Task& task) {
    Task of_class = task;
    of_class.bytes = size_class(task.bytes);
    const double chosen = planner.simulate(task, planner.choose(of_class).chosen()).seconds;
    double best = 1e300;
    for (const Candidate& candidate : planner.choose(task, true).candidates) {
        if (candidate.problem.empty()) best = std::min(best, candidate.seconds);
    }
    return chosen / best;
}

void print_regrets() {
    fmt::print(
        "\nchoice / best candidate, the worst of 1 KiB to 1 GiB (at most 1.02 is promised)\n");
    for (const std::string& name : preset_names()) {
        const Topology topology = load_topology(name);
        const Planner planner(topology, {});
        // Large machines take long.
        const bool large = topology.gpu_count() > 32;
        std::string text;
        for (const Collective collective : collectives) {
            if (large && collective != Collective::all_reduce) continue;
            double worst = 0;
            for (std::uint64_t bytes = 1 << 10; bytes <= 1 << 30; bytes *= large ? 32 : 4) {
                for (const std::uint64_t size : {bytes, bytes + bytes / 3}) {
                    if (size > 1 << 30) continue;
                    worst =
                        std::max(worst, regret(planner, {.collective = collective, .bytes = size}));
                }
            }
            text += fmt::format("  {} {:.4f}", to_string(collective), worst);
        }
        fmt::print("  {:<18}{}\n", name, text);
        std::fflush(stdout);
    }
}

}  // namespace

int main(int argc, char** argv) try {
    CLI::App app(
        "Simulates all_reduce on machines that are not there (no number here is measured, but the\n"
        "times of choices are). Tables: presets (share of the exact bound), times (of a choice),\n"
        "allocations (3 to 8 GPUs of a DGX-1V), regrets (the choice against the best candidate).");
    std::vector<std::string> tables{"presets", "times", "allocations", "regrets"};
    app.add_option("tables", tables, "which ones; all take a minute or two")
        ->capture_default_str()
        ->check(CLI::IsMember({"presets", "times", "allocations", "regrets"}));
    CLI11_PARSE(app, argc, argv);
    for (const std::string& table : tables) {
        if (table == "presets") print_presets();
        if (table == "times") print_times();
        if (table == "allocations") print_subsets();
        if (table == "regrets") print_regrets();
    }
    return 0;
} catch (const std::exception& error) {
    fmt::print(stderr, "simulate_bench: {}\n", error.what());
    return 1;
}
