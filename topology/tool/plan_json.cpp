// The JSON of rondo-topo plan.
#include <nlohmann/json.hpp>

#include "topology/tool/plan.hpp"

namespace rondo::tool {
namespace {

using Json = nlohmann::ordered_json;

Json candidate_json(const PlanReport& report, const PlanCandidate& candidate) {
    Json json{{"strategy", to_string(candidate.strategy)}};
    if (!candidate.problem.empty()) {
        json["problem"] = candidate.problem;
        return json;
    }
    const double algbw = report.algbw(candidate);
    const auto ranks = static_cast<std::uint32_t>(report.gpus.size());
    json["time_us"] = candidate.seconds * 1e6;
    json["algbw"] = algbw / 1e9;
    json["of_bound"] = report.bound == 0 ? Json() : Json(algbw / report.bound);
    json["busbw"] = algbw * bus_factor(report.request.collective, ranks) / 1e9;
    json["replicas"] = candidate.partition.replicas;
    json["slot_bytes"] = candidate.partition.slot_bytes;
    return json;
}

}  // namespace

std::string plan_json(const PlanReport& report) {
    Json json{{"topology", report.topology},
              {"gpus", report.gpus},
              {"links", report.links},
              {"model", report.model},
              {"collective", to_string(report.request.collective)},
              {"bytes", report.bytes},
              {"unit", "GB/s"},
              {"algbw_bound", report.bound == 0 ? Json() : Json(report.bound / 1e9)},
              {"chosen", candidate_json(report, report.plan.candidates.front())},
              {"candidates", Json::array()},
              {"reason", report.plan.reason}};
    for (const PlanCandidate& candidate : report.plan.candidates) {
        json["candidates"].push_back(candidate_json(report, candidate));
    }
    return json.dump(2);
}

}  // namespace rondo::tool
