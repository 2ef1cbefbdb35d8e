// The JSON file: nccl-tests' format, version 3, with Rondo's own figures below the keys "rondo".
#include "bench/tool/json_output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "rondo/error.hpp"

namespace rondo::bench {
namespace {

using Json = nlohmann::ordered_json;

/// NaN has no place in JSON; nccl-tests writes the word.
Json number(double value) {
    if (std::isnan(value)) return "nan";
    return value;
}

Json text_bool(bool value) {
    return value ? "true" : "false";
}

Json spread_json(const Spread& spread) {
    return {{"median_us", number(spread.median)},
            {"quartile_low_us", number(spread.low)},
            {"quartile_high_us", number(spread.high)}};
}

Json statistics_json(const IterationStatistics& statistics) {
    return {{"skipped_iterations", statistics.skipped},
            {"min_us", statistics.minimum},
            {"max_us", statistics.maximum},
            {"avg_us", statistics.average},
            {"p50_us", statistics.p50},
            {"p95_us", statistics.p95},
            {"p99_us", statistics.p99},
            {"stdev_us", statistics.deviation},
            {"cv_pct", statistics.variation_percent()},
            {"times_us", statistics.times}};
}

Json peer_json(const PeerTime& peer) {
    Json json{{"name", peer.name}, {"kind", peer.from_log ? "saved log" : "measured"}};
    if (!peer.problem.empty()) {
        json["problem"] = peer.problem;
    } else {
        json["time"] = spread_json(peer.us);
        json["iterations"] = peer.iterations;
    }
    return json;
}

Json half_json(const Header& header, const Half& half) {
    return {{header.cpu_time ? "cpu_time" : "time", number(half.us.median)},
            {"alg_bw", number(half.alg_bw)},
            {"bus_bw", number(half.bus_bw)},
            {"nwrong", half.wrong ? Json(static_cast<double>(*half.wrong)) : Json(nullptr)}};
}

/// What stands beside a half in the object "rondo" of its row.
Json own_half_json(const Half& half) {
    Json json{{"measured", spread_json(half.us)}};
    if (half.limit_us() > 0) {
        json["limit_us"] = half.limit_us();
        json["limit_ratio"] = half.limit_ratio();
        if (half.loop_us.median > 0) json["read_write_loop"] = spread_json(half.loop_us);
        if (half.hand_written_us.median > 0) {
            json["hand_written"] = spread_json(half.hand_written_us);
        }
        if (half.link_us.median > 0) json["link_copies"] = spread_json(half.link_us);
    }
    json["peers"] = Json::array();
    for (const PeerTime& peer : half.peers) json["peers"].push_back(peer_json(peer));
    return json;
}

Json row_json(const Report& report, const Row& row) {
    const Header& header = report.header;
    Json json{{"size", row.size},
              {"count", row.count},
              {"type", row.type},
              {"redop", row.op},
              {"root", fmt::format("{:>6}", row.root)}};
    Json own{{"strategy", row.strategy}, {"asked", row.asked}};
    own["simulated_us"] = row.simulated_us > 0 ? Json(row.simulated_us) : Json(nullptr);
    own["topology_bound_us"] = row.bound_us > 0 ? Json(row.bound_us) : Json(nullptr);
    if (!row.reason.empty()) own["reason"] = row.reason;
    const auto add = [&](const char* name, const std::optional<Half>& half) {
        json[name] = half ? half_json(header, *half) : Json(nullptr);
        if (!half) return;
        if (half->iterations) {
            json[fmt::format("{}_per_iter", name)] = statistics_json(*half->iterations);
        }
        own[name] = own_half_json(*half);
    };
    add("out_of_place", row.out_of_place);
    add("in_place", row.in_place);
    json["actual_iterations"] = row.iterations;
    json["experiment_name"] = to_string(header.operation);
    json["rondo"] = std::move(own);
    return json;
}

Json config_json(const Header& header) {
    Json json{{"nthreads", header.threads},
              {"ngpus", header.gpus},
              {"minimum_bytes", header.sizes.first},
              {"maximum_bytes", header.sizes.last}};
    if (header.sizes.step_factor > 1) {
        json["step_factor"] = header.sizes.step_factor;
    } else {
        json["step_bytes"] = header.sizes.step_bytes;
    }
    json["warmup_iters"] = header.warm_up;
    json["iterations"] = header.iterations;
    json["aggregated_iterations"] = header.aggregate;
    json["validation"] = header.check;
    json["graph"] = header.graphs;
    json["blocking_collectives"] = text_bool(header.blocking != 0);
    json["per_iter_timing"] = text_bool(header.per_iteration);
    json["per_iter_skip"] = header.per_iteration_skip;
    json["parallel_init"] = text_bool(header.parallel_init);
    json["devices"] = Json::array();
    for (const Device& device : header.devices) {
        json["devices"].push_back({{"rank", device.rank},
                                   {"group", 0},
                                   {"pid", getpid()},
                                   {"hostname", header.host},
                                   {"device", device.device},
                                   {"device_hex", device.bus},
                                   {"device_info", device.name}});
    }
    return json;
}

Json growth_json(const GrowthPoint& point) {
    Json json{{"ranks", point.ranks}, {"bytes", point.bytes}};
    if (!point.left_out.empty()) {
        json["left_out"] = point.left_out;
        return json;
    }
    json["first_ms"] = point.first_ms;
    json["time"] = spread_json(point.us);
    json["host_bytes"] = point.host_bytes;
    json["device_bytes"] = point.device_bytes;
    return json;
}

/// What a script that knows nccl-tests need not look at.
Json own_json(const Report& report) {
    const Header& header = report.header;
    Json json{{"version", header.version},   {"collective", to_string(header.operation)},
              {"ranks", header.ranks()},     {"gpu", header.virtual_gpus ? "virtual" : "cuda"},
              {"topology", header.topology}, {"rounds", header.rounds},
              {"peers", report.peers},       {"notes", report.notes},
              {"verdict", report.verdict}};
    json["machine"] = Json::object();
    for (const auto& [key, value] : header.machine) json["machine"][key] = value;
    json["first_calls"] = Json::array();
    for (const FirstCall& call : report.first_calls) {
        json["first_calls"].push_back({{"strategy", call.strategy},
                                       {"ranks", call.ranks},
                                       {"bytes", call.bytes},
                                       {"create_ms", call.create_ms},
                                       {"first_ms", call.first_ms},
                                       {"second_ms", call.second_ms}});
    }
    json["predictions"] = Json::array();
    for (const Prediction& prediction : report.predictions) {
        json["predictions"].push_back({{"strategy", prediction.strategy},
                                       {"bytes", prediction.bytes},
                                       {"simulated_us", prediction.us},
                                       {"chosen", prediction.chosen}});
    }
    json["growth"] = Json::array();
    for (const GrowthPoint& point : report.growth) json["growth"].push_back(growth_json(point));
    return json;
}

}  // namespace

std::string to_json(const Report& report) {
    const Header& header = report.header;
    Json json{{"version", 3},
              {"start_time", header.start_time},
              {"args", header.arguments},
              {"env", header.environment},
              {"nccl_version", 0},
              {"config", config_json(header)}};
    json["results"] = Json::array();
    for (const Row& row : report.rows) json["results"].push_back(row_json(report, row));
    json["out_of_bounds"] = {{"count", report.wrong()}, {"okay", text_bool(report.wrong() == 0)}};
    json["average_bus_bandwidth"] = {
        {"bandwidth", number(report.average_bus_bw())},
        {"okay", report.least_bus_bw < 0 ? Json("unchecked") : text_bool(!report.bus_bw_failed())}};
    json["errors"] = report.errors;
    json["rondo"] = own_json(report);
    json["end_time"] = header.end_time;
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string write_new_file(const std::string& name, const std::string& text) {
    std::string candidate = name;
    std::FILE* file = std::fopen(candidate.c_str(), "wx");
    for (int number = 0; file == nullptr && errno == EEXIST && number < 100000; ++number) {
        candidate = fmt::format("{}.{}", name, number);
        file = std::fopen(candidate.c_str(), "wx");
    }
    if (file == nullptr) {
        throw Error(fmt::format("{} can't be written: {}", candidate, std::strerror(errno)));
    }
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (std::fclose(file) != 0 || !written) throw Error(candidate + " can't be written");
    return candidate;
}

}  // namespace rondo::bench
