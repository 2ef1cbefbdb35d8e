// rondo-topo plan: every strategy simulated, the fastest one, and why.
#include "topology/tool/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "topology/load/any_topology.hpp"
#include "topology/tool/commands.hpp"
#include "topology/tool/request.hpp"
#include "topology/tool/table.hpp"

namespace rondo::tool {
namespace {

/// Words of the command line that the library has its own errors for.
template <class Parse>
auto parse_word(const char* option, Parse parse) {
    try {
        return parse();
    } catch (const InvalidArgument& error) {
        throw UsageError(fmt::format("{}: {}", option, error.what()));
    }
}

std::uint32_t root_rank(const PlanOptions& options, const std::vector<int>& gpus) {
    if (options.root < 0) return 0;
    const auto place = std::ranges::find(gpus, options.root);
    if (place == gpus.end()) {
        throw UsageError(fmt::format("--root: GPU {} does not take part; those are {}",
                                     options.root, numbers(gpus)));
    }
    return static_cast<std::uint32_t>(place - gpus.begin());
}

std::string time_text(double seconds) {
    return fmt::format("{:.1f}", seconds * 1e6);
}

void print_head(const PlanReport& report, int gpus_there) {
    fmt::print("{}: {} of {} on {} of {} GPUs ({}), {}, {} bandwidths\n\n", report.topology,
               to_string(report.task.collective), bytes_text(report.task.bytes), report.gpus.size(),
               gpus_there, numbers(report.gpus),
               report.links == "all" ? "all links" : "links of the GPU fabric only",
               report.model == "nccl" ? "NCCL's model of the" : "nominal");
}

void print_candidates(const PlanReport& report) {
    Table table({{""},
                 {"STRATEGY"},
                 {"TIME us", Align::right},
                 {"ALGBW GB/s", Align::right},
                 {"BUSBW GB/s", Align::right},
                 {"OF BOUND", Align::right},
                 {"LANES", Align::right},
                 {"SLOT", Align::right},
                 {""}});
    const auto ranks = static_cast<std::uint32_t>(report.gpus.size());
    bool first = true;
    for (const Candidate& candidate : report.choice.candidates) {
        const std::string mark = first ? ">" : "";
        first = false;
        if (!candidate.problem.empty()) {
            table.add({mark, to_string(candidate.strategy), "-", "-", "-", "-", "-", "-",
                       candidate.problem});
            continue;
        }
        const double algbw = report.algbw(candidate);
        table.add({mark, to_string(candidate.strategy), time_text(candidate.seconds),
                   fmt::format("{:.2f}", algbw / 1e9),
                   fmt::format("{:.2f}", algbw * bus_factor(report.task.collective, ranks) / 1e9),
                   report.bound == 0 ? "" : fmt::format("{:.1f} %", 100 * algbw / report.bound),
                   fmt::format("{}", candidate.cutting.lanes),
                   bytes_text(candidate.cutting.slot_bytes), ""});
    }
    fmt::print("{}\n", table.text());
}

void print_links(const Planner& planner, const Simulation& simulation) {
    constexpr std::size_t most = 4;
    const Topology& topology = planner.topology();
    std::vector<std::string> texts;
    for (const LinkUse& use : simulation.links) {
        if (texts.size() == most) break;
        const Link& link = topology.links()[static_cast<std::size_t>(use.link)];
        texts.push_back(fmt::format(
            "{}>{} {:.0f} %", topology.nodes()[static_cast<std::size_t>(link.source)].id,
            topology.nodes()[static_cast<std::size_t>(link.target)].id, 100 * use.busy));
    }
    if (!texts.empty()) fmt::print("\nBusiest links: {}\n", fmt::join(texts, ", "));
}

/// What may be the fastest is simulated to its last chunk, so that its time is not extrapolated.
void complete_best(const Planner& planner, PlanReport& report) {
    constexpr double close = 1.05;
    const double best = report.choice.chosen().seconds;
    for (Candidate& candidate : report.choice.candidates) {
        if (!candidate.problem.empty() || candidate.seconds > best * close) continue;
        candidate.seconds =
            planner.simulate(report.task, candidate, {.most_chunks = UINT32_MAX}).seconds;
    }
    std::ranges::stable_sort(report.choice.candidates, {}, [](const Candidate& candidate) {
        return std::pair(!candidate.problem.empty(), candidate.seconds);
    });
    report.choice.reason = explain_choice(planner, report.task, report.choice);
}

}  // namespace

void plan(const PlanOptions& options) {
    Task task{.collective =
                  parse_word("--collective", [&] { return parse_collective(options.collective); }),
              .bytes = parse_bytes(options.bytes)};
    RoutingOptions routing{.model = parse_model(options.model),
                           .fabric_only = parse_links(options.links) == LinkFilter::nvlink};
    if (!options.gpus.empty()) routing.gpus = parse_gpus(options.gpus);
    std::optional<Strategy> wanted;
    if (!options.strategy.empty()) {
        wanted = parse_word("--strategy", [&] { return parse_strategy(options.strategy); });
        if (wanted->kind() == Strategy::Kind::automatic) wanted.reset();
    }
    const Topology topology = load_any_topology(options.topology);
    const Planner planner(topology, routing);
    task.root = root_rank(options, planner.routing().gpus());
    if (wanted == Strategy::direct()) wanted = Strategy::direct(2);
    PlanReport report{.topology = topology.name(),
                      .gpus = planner.routing().gpus(),
                      .links = options.links,
                      .model = options.model,
                      .task = task,
                      .bound = planner.bound(task),
                      .choice = planner.choose(task, true)};
    complete_best(planner, report);
    if (wanted) {
        Choice forced = planner.choose(task, *wanted);
        Candidate& chosen = forced.candidates.front();
        chosen.seconds = planner.simulate(task, chosen, {.most_chunks = UINT32_MAX}).seconds;
        std::erase_if(report.choice.candidates,
                      [&](const Candidate& other) { return other.strategy == *wanted; });
        report.choice.candidates.insert(report.choice.candidates.begin(), forced.candidates.begin(),
                                        forced.candidates.end());
        report.choice.reason = forced.reason + " By itself: " + report.choice.reason;
    }
    const bool trace = !options.trace_file.empty();
    const Simulation best = planner.simulate(task, report.choice.chosen(), {.timeline = trace});
    if (trace) {
        write_file(options.trace_file, chrome_trace(planner.schedule(task, report.choice.chosen()),
                                                    planner.routing(), best));
        if (options.trace_file == "-") return;
    }
    if (options.json) {
        fmt::print("{}\n", plan_json(report));
        return;
    }
    print_head(report, topology.gpu_count());
    print_candidates(report);
    if (report.bound != 0) {
        fmt::print("No trees are faster than {:.2f} GB/s here (rondo-topo bound).\n",
                   report.bound / 1e9);
    }
    fmt::print("{}\n", report.choice.reason);
    print_links(planner, best);
    if (trace) fmt::print("Trace: {}\n", options.trace_file);
}

}  // namespace rondo::tool
