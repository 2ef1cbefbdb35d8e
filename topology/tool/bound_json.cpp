// The JSON of rondo-topo bound.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "topology/tool/bound.hpp"
#include "topology/tool/request.hpp"

namespace rondo::tool {
namespace {

using Json = nlohmann::ordered_json;

/// null where nothing limits the rate.
Json rate(const Bound& bound, const Rational& value) {
    return bound.unlimited ? Json() : Json(gigabytes(value));
}

Json collective_json(const CollectiveBound& entry, int gpus) {
    const Bound& bound = entry.bound;
    Json json{{"algbw", rate(bound, bound.throughput)},
              {"busbw", rate(bound, bound.throughput)},
              {"proven", rate(bound, bound.proven)},
              {"exact", bound.exact()}};
    if (!bound.unlimited) {
        json["busbw"] = gigabytes(bound.throughput) * bus_factor(entry.collective, gpus);
    }
    const bool one_root = entry.collective == ForestCollective::broadcast ||
                          entry.collective == ForestCollective::reduce;
    if (one_root) {
        json["root"] = entry.request.root;
    } else {
        json["equal_shares"] = rate(bound, bound.equal_shares);
    }
    return json;
}

Json tree_json(const ForestTree& tree, const Rational& throughput) {
    const Rational share = tree.weight / throughput;
    Json json{{"root", tree.root},
              {"weight", gigabytes(tree.weight)},
              {"share", share.convert_to<double>()},
              {"share_exact", share.str()},
              {"depth", tree.depth},
              {"edges", Json::array()}};
    for (const ForestEdge& edge : tree.edges) json["edges"].push_back({edge.parent, edge.child});
    return json;
}

}  // namespace

std::string bound_json(const BoundReport& report) {
    const Bound& best = report.all_reduce();
    const int gpus = static_cast<int>(report.gpus.size());
    Json json{
        {"topology", report.topology},
        {"gpus", report.gpus},
        {"links", report.request.links == LinkFilter::all ? "all" : "nvlink"},
        {"model", report.request.model == BandwidthModel::nccl ? "nccl" : "nominal"},
        {"helpers", report.request.helpers},
        {"unit", "GB/s"},
        {"algbw_bound", rate(best, best.throughput)},
        {"algbw_bound_bytes_per_second", best.unlimited ? Json() : Json(best.throughput.str())},
        {"exact", best.exact()},
        {"symmetric", best.symmetric},
        {"reason", report.reason}};
    for (const CollectiveBound& entry : report.collectives) {
        json["collectives"][std::string(name_of(entry.collective))] = collective_json(entry, gpus);
    }
    for (const ExchangeRow& row : report.exchanges) {
        Json& entry = json["collectives"][std::string(row.name)];
        entry = {{"algbw", row.bound.unlimited ? Json() : Json(row.algbw / 1e9)},
                 {"busbw", row.bound.unlimited ? Json() : Json(row.busbw / 1e9)},
                 {"exact", row.bound.exact}};
        if (row.has_root) entry["root"] = report.gpus.front();
    }
    json["depth"] = report.forest.depth;
    json["trees"] = Json::array();
    for (const ForestTree& tree : report.forest.trees) {
        json["trees"].push_back(tree_json(tree, report.forest.throughput));
    }
    return json.dump(2);
}

}  // namespace rondo::tool
