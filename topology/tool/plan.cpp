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
               to_string(report.request.collective), bytes_text(report.bytes), report.gpus.size(),
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
                 {"REPLICAS", Align::right},
                 {"SLOT", Align::right},
                 {""}});
    const auto ranks = static_cast<std::uint32_t>(report.gpus.size());
    bool first = true;
    for (const PlanCandidate& candidate : report.plan.candidates) {
        const std::string mark = first ? ">" : "";
        first = false;
        if (!candidate.problem.empty()) {
            table.add({mark, to_string(candidate.strategy), "-", "-", "-", "-", "-", "-",
                       candidate.problem});
            continue;
        }
        const double algbw = report.algbw(candidate);
        table.add(
            {mark, to_string(candidate.strategy), time_text(candidate.seconds),
             fmt::format("{:.2f}", algbw / 1e9),
             fmt::format("{:.2f}", algbw * bus_factor(report.request.collective, ranks) / 1e9),
             report.bound == 0 ? "" : fmt::format("{:.1f} %", 100 * algbw / report.bound),
             fmt::format("{}", candidate.partition.replicas),
             bytes_text(candidate.partition.slot_bytes), ""});
    }
    fmt::print("{}\n", table.text());
}

void print_links(const Planner& planner, const Simulation& simulation) {
    constexpr std::size_t most = 4;
    const Topology& topology = planner.machine().routing()->topology();
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
    const double best = report.plan.seconds;
    for (PlanCandidate& candidate : report.plan.candidates) {
        if (!candidate.problem.empty() || candidate.seconds > best * close) continue;
        Request named = report.request;
        named.strategy = candidate.strategy;
        candidate.seconds =
            planner.simulate(*planner.plan(named), named, {.most_chunks = UINT32_MAX}).seconds;
    }
    report.plan.seconds = report.plan.candidates.front().seconds;
}

/// What automatic would do, beside what was asked for.
void add_others(const Planner& planner, PlanReport& report) {
    Request free = report.request;
    free.strategy = {};
    const Plan other = planner.explain(free);
    for (const PlanCandidate& candidate : other.candidates) {
        if (candidate.strategy != report.plan.strategy) {
            report.plan.candidates.push_back(candidate);
        }
    }
    report.plan.reason += " By itself: " + other.reason;
}

PlannerOptions planner_options(const PlanOptions& options) {
    PlannerOptions result{.model = parse_model(options.model),
                          .fabric_only = parse_links(options.links) == LinkFilter::nvlink};
    if (!options.gpus.empty()) result.gpus = parse_gpus(options.gpus);
    return result;
}

}  // namespace

void plan(const PlanOptions& options) {
    Request request{.collective = parse_word("--collective",
                                             [&] { return parse_collective(options.collective); }),
                    .count = parse_bytes(options.bytes)};
    if (!options.strategy.empty()) {
        request.strategy =
            parse_word("--strategy", [&] { return parse_strategy(options.strategy); });
    }
    const PlannerOptions planner_wants = planner_options(options);
    const Topology topology = load_any_topology(options.topology);
    const Planner planner(topology, planner_wants);
    const std::vector<int>& gpus = planner.machine().routing()->gpus();
    request.root = root_rank(options, gpus);
    if (request.collective == Collective::reduce) request.destinations = {request.root};
    const std::uint64_t bytes = request.count;
    if (request.collective == Collective::all_to_all) request.count *= gpus.size();
    PlanReport report{.topology = topology.name(),
                      .gpus = gpus,
                      .links = options.links,
                      .model = options.model,
                      .request = request,
                      .bytes = bytes,
                      .plan = planner.explain(request)};
    report.bound =
        planner.bound(request) * static_cast<double>(bytes) / static_cast<double>(request.count);
    complete_best(planner, report);
    if (!request.strategy.is_automatic()) add_others(planner, report);
    const bool trace = !options.trace_file.empty();
    const Simulation best = planner.simulate(report.plan, request, {.timeline = trace});
    if (trace) {
        write_file(options.trace_file,
                   chrome_trace(report.plan.schedule, planner.routing(report.plan), best));
        if (options.trace_file == "-") return;
    }
    if (options.json) {
        fmt::print("{}\n", plan_json(report));
        return;
    }
    print_head(report, topology.gpu_count());
    print_candidates(report);
    if (report.bound != 0) {
        fmt::print("Nothing is faster than {:.2f} GB/s here (rondo-topo bound).\n",
                   report.bound / 1e9);
    }
    fmt::print("{}\n", report.plan.reason);
    print_links(planner, best);
    if (trace) fmt::print("Trace: {}\n", options.trace_file);
}

}  // namespace rondo::tool
