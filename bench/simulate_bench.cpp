// How much of the exact bound an all_reduce reaches in simulation, by strategy: every preset, and
// every allocation of 3 to 8 GPUs of a DGX-1V. Prints tables; takes minutes.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <string>
#include <vector>

#include "strategy/planner.hpp"

namespace {

using namespace rondo;

constexpr std::uint64_t sizes[] = {256ull << 20, 1024ull << 20};

double share(const Planner& planner, const Strategy& strategy, std::uint64_t bytes) {
    const Task task{.bytes = bytes};
    try {
        const Choice choice = planner.choose(task, strategy);
        return static_cast<double>(bytes) / choice.chosen().seconds / planner.bound(task);
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

void print_times() {
    fmt::print("\ntime of a choice (all_reduce, 256 MiB)\n");
    for (const char* name : {"dgx_a100", "dgx1_v100", "mi250_16gcd", "gb200_nvl72_1sw"}) {
        const Topology topology = load_topology(name);
        const auto begin = std::chrono::steady_clock::now();
        const Planner planner(topology, {});
        const Choice choice = planner.choose({.bytes = sizes[0]});
        const std::chrono::duration<double, std::milli> taken =
            std::chrono::steady_clock::now() - begin;
        fmt::print("  {:<18} {:8.1f} ms  {}\n", name, taken.count(),
                   to_string(choice.chosen().strategy));
    }
}

}  // namespace

int main() {
    print_presets();
    print_times();
    print_subsets();
}
