// rondo-topo bound: the best throughput of every collective, why, and trees that reach it.
#include "topology/tool/bound.hpp"

#include <fmt/format.h>

#include <numeric>

#include "topology/load/any_topology.hpp"
#include "topology/tool/commands.hpp"
#include "topology/tool/request.hpp"
#include "topology/tool/table.hpp"
#include "topology/tool/tree_picture.hpp"

namespace rondo::tool {
namespace {

constexpr std::size_t most_trees = 16;
constexpr std::size_t most_edges = 16;

std::vector<ExchangeRow> exchange_rows(const Topology& topology, ForestRequest request,
                                       const std::vector<int>& gpus) {
    request.root = gpus.front();
    const auto ranks = static_cast<double>(gpus.size());
    std::vector<ExchangeRow> rows;
    for (const auto& [name, kind] : {std::pair{"all_to_all", ExchangeKind::all_to_all},
                                     {"gather", ExchangeKind::gather},
                                     {"scatter", ExchangeKind::scatter}}) {
        const bool pairs = kind == ExchangeKind::all_to_all;
        ExchangeRow row{
            .name = name, .bound = exchange_bound(topology, request, kind), .has_root = !pairs};
        row.algbw = row.bound.throughput.convert_to<double>() / (pairs ? ranks : 1);
        row.busbw = row.algbw * (ranks - 1) / ranks;
        rows.push_back(std::move(row));
    }
    return rows;
}

BoundReport make_report(const Topology& topology, const ForestRequest& request) {
    BoundReport report{.topology = topology.name(), .gpus = request.gpus, .request = request};
    if (report.gpus.empty()) {
        report.gpus.resize(static_cast<std::size_t>(topology.gpu_count()));
        std::iota(report.gpus.begin(), report.gpus.end(), 0);
    }
    report.forest = build_forest(topology, request);
    report.reason = explain_bound(topology, request, report.forest.bound);
    report.collectives.push_back({ForestCollective::all_reduce, request, report.forest.bound});
    for (const auto collective : {ForestCollective::reduce_scatter, ForestCollective::all_gather,
                                  ForestCollective::broadcast, ForestCollective::reduce}) {
        ForestRequest other = request;
        other.collective = collective;
        other.root = report.gpus.front();
        report.collectives.push_back({collective, other, forest_bound(topology, other)});
    }
    report.exchanges = exchange_rows(topology, request, report.gpus);
    return report;
}

std::string rate(double value) {
    return fmt::format("{:.2f}", value);
}

void print_head(const BoundReport& report, int gpus_there) {
    const bool nccl = report.request.model == BandwidthModel::nccl;
    const bool all = report.request.links == LinkFilter::all;
    fmt::print("{}: {} of {} GPUs ({}), {}{}, {} bandwidths\n\n", report.topology,
               report.gpus.size(), gpus_there, numbers(report.gpus),
               all ? "all links" : "links of the GPU fabric only (NVLink, XGMI, memory)",
               report.request.helpers ? ", other GPUs may relay" : "",
               nccl ? "NCCL's model of the" : "nominal");
}

void print_rates(const BoundReport& report) {
    Table table({{"COLLECTIVE"},
                 {"ALGBW GB/s", Align::right},
                 {"BUSBW GB/s", Align::right},
                 {"EQUAL SHARES", Align::right},
                 {""}});
    for (const CollectiveBound& entry : report.collectives) {
        const double algbw = gigabytes(entry.bound.throughput);
        const double factor = bus_factor(entry.collective, static_cast<int>(report.gpus.size()));
        const bool one_root = entry.bound.equal_shares == 0;
        std::string note = one_root ? fmt::format("root: GPU {}", entry.request.root) : "";
        if (!entry.bound.exact()) {
            note = fmt::format("at most {} is possible", rate(gigabytes(entry.bound.proven)));
        }
        table.add({std::string(name_of(entry.collective)), rate(algbw), rate(algbw * factor),
                   one_root ? "" : rate(gigabytes(entry.bound.equal_shares)), note});
    }
    for (const ExchangeRow& row : report.exchanges) {
        table.add({std::string(row.name), rate(row.algbw / 1e9), rate(row.busbw / 1e9), "",
                   row.has_root      ? fmt::format("root: GPU {}", report.gpus.front())
                   : row.bound.exact ? "of what each GPU sends"
                                     : "of what each GPU sends; by cuts, at most"});
    }
    fmt::print("{}\n", table.text());
}

std::string edges_text(const ForestTree& tree) {
    std::vector<std::string> texts;
    for (const ForestEdge& edge : tree.edges) {
        if (texts.size() == most_edges) {
            texts.push_back(fmt::format("and {} more", tree.edges.size() - most_edges));
            break;
        }
        texts.push_back(fmt::format("{}-{}", edge.parent, edge.child));
    }
    return fmt::format("{}", fmt::join(texts, " "));
}

void print_trees(const BoundReport& report) {
    const Forest& forest = report.forest;
    fmt::print("{} tree{} reach it, at most {} hop{} deep:\n", forest.trees.size(),
               forest.trees.size() == 1 ? "" : "s", forest.depth, forest.depth == 1 ? "" : "s");
    Table table({{"GB/s", Align::right},
                 {"OF DATA", Align::right},
                 {"ROOT", Align::right},
                 {"DEPTH", Align::right},
                 {"HOPS (PARENT-CHILD)"}});
    for (std::size_t i = 0; i < std::min(forest.trees.size(), most_trees); ++i) {
        const ForestTree& tree = forest.trees[i];
        const Rational share = tree.weight / forest.throughput;
        table.add({rate(gigabytes(tree.weight)),
                   fmt::format("{:.2f} %", 100 * share.convert_to<double>()),
                   fmt::format("{}", tree.root), fmt::format("{}", tree.depth), edges_text(tree)});
    }
    fmt::print("{}", table.text());
    if (forest.trees.size() > most_trees) {
        fmt::print("  and {} more; --json lists all\n", forest.trees.size() - most_trees);
    }
}

}  // namespace

double gigabytes(const Rational& bytes_per_second) {
    return Rational(bytes_per_second / 1'000'000'000).convert_to<double>();
}

void bound(const BoundOptions& options) {
    const ForestRequest request = request_of(options);
    const Topology topology = load_any_topology(options.topology);
    const BoundReport report = make_report(topology, request);
    if (!options.svg_file.empty()) {
        write_file(options.svg_file, tree_picture(topology, report));
        if (options.svg_file == "-") return;
    }
    if (options.json) {
        fmt::print("{}\n", bound_json(report));
        return;
    }
    print_head(report, topology.gpu_count());
    if (report.all_reduce().unlimited) {
        fmt::print("{}\n", report.reason);
        return;
    }
    print_rates(report);
    fmt::print("{}\n\n", report.reason);
    print_trees(report);
}

}  // namespace rondo::tool
