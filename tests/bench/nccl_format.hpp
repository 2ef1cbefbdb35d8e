// A reader of nccl-tests' output, written from the description of its format and from nothing of
// Rondo's: what scripts that people have do with it.
//
// Text: lines that begin with # are comments. Every other line is a row of columns between blanks:
// size, count, type, redop, root, then out of place and in place, each time, algbw, busbw, #wrong
// (a number or N/A). What follows is ignored. The footer says "# Out of bounds values : N OK" and
// "# Avg bus bandwidth : X".
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace rondo::testing {

struct ForeignHalf {
    double time = 0, algbw = 0, busbw = 0;
    std::string wrong;
};

struct ForeignRow {
    std::uint64_t size = 0, count = 0;
    std::string type, redop;
    int root = 0;
    ForeignHalf out_of_place, in_place;
    std::vector<std::string> rest;
};

struct ForeignLog {
    std::vector<ForeignRow> rows;
    int out_of_bounds = -1;
    std::string out_of_bounds_word;
    double average = -1;
    int devices = 0;
};

inline ForeignHalf read_foreign_half(std::istringstream& line, bool per_iteration) {
    ForeignHalf half;
    line >> half.time >> half.algbw >> half.busbw >> half.wrong;
    double ignored = 0;
    for (int i = 0; per_iteration && i < 4; ++i) line >> ignored;
    EXPECT_TRUE(line) << line.str();
    return half;
}

inline ForeignLog read_foreign_text(const std::string& text) {
    ForeignLog log;
    std::istringstream lines(text);
    std::smatch match;
    const std::regex bounds("# Out of bounds values *: (\\d+) (OK|FAILED)");
    const std::regex average("# Avg bus bandwidth *: ([-+0-9.e]+).*");
    const std::regex device(
        "#  Rank +\\d+ Group +\\d+ Pid +\\d+ on +\\S+ device +\\d+ \\[[^\\]]+\\] .+");
    bool per_iteration = false;
    for (std::string line; std::getline(lines, line);) {
        if (line.find("i_p99") != std::string::npos) per_iteration = true;
        if (std::regex_match(line, match, bounds)) {
            log.out_of_bounds = std::stoi(match[1]);
            log.out_of_bounds_word = match[2];
        } else if (std::regex_match(line, match, average)) {
            log.average = std::stod(match[1]);
        } else if (std::regex_match(line, device)) {
            ++log.devices;
        }
        if (line.empty() || line[0] == '#') continue;
        std::istringstream words(line);
        ForeignRow row;
        words >> row.size >> row.count >> row.type >> row.redop >> row.root;
        row.out_of_place = read_foreign_half(words, per_iteration);
        row.in_place = read_foreign_half(words, per_iteration);
        for (std::string word; words >> word;) row.rest.push_back(word);
        log.rows.push_back(row);
    }
    return log;
}

/// Every key that version 3 has, with its kind; throws where one is missing.
inline ForeignLog read_foreign_json(const nlohmann::json& json) {
    EXPECT_EQ(json.at("version"), 3);
    EXPECT_TRUE(json.at("start_time").is_string() && json.at("end_time").is_string());
    EXPECT_TRUE(json.at("args").is_array() && json.at("env").is_array());
    EXPECT_TRUE(json.at("nccl_version").is_number_integer());
    const auto& config = json.at("config");
    for (const char* key :
         {"nthreads", "ngpus", "minimum_bytes", "maximum_bytes", "warmup_iters", "iterations",
          "aggregated_iterations", "validation", "graph", "per_iter_skip"}) {
        EXPECT_TRUE(config.at(key).is_number_integer()) << key;
    }
    for (const char* key : {"blocking_collectives", "per_iter_timing", "parallel_init"}) {
        EXPECT_TRUE(config.at(key) == "true" || config.at(key) == "false") << key;
    }
    EXPECT_TRUE(config.contains("step_factor") != config.contains("step_bytes"));
    ForeignLog log;
    for (const auto& device : config.at("devices")) {
        for (const char* key : {"rank", "group", "pid", "device"}) {
            EXPECT_TRUE(device.at(key).is_number_integer()) << key;
        }
        for (const char* key : {"hostname", "device_hex", "device_info"}) {
            EXPECT_TRUE(device.at(key).is_string()) << key;
        }
        ++log.devices;
    }
    const auto half = [](const nlohmann::json& object) {
        ForeignHalf result;
        if (object.is_null()) return result;
        result.time = object.contains("time") ? object.at("time").get<double>()
                                              : object.at("cpu_time").get<double>();
        result.algbw = object.at("alg_bw");
        result.busbw = object.at("bus_bw");
        result.wrong = object.at("nwrong").is_null()
                           ? "N/A"
                           : std::to_string(object.at("nwrong").get<std::int64_t>());
        return result;
    };
    for (const auto& result : json.at("results")) {
        ForeignRow row{.size = result.at("size"),
                       .count = result.at("count"),
                       .type = result.at("type"),
                       .redop = result.at("redop"),
                       .root = std::stoi(result.at("root").get<std::string>()),
                       .out_of_place = half(result.at("out_of_place")),
                       .in_place = half(result.at("in_place")),
                       .rest = {}};
        EXPECT_TRUE(result.at("actual_iterations").is_number_integer());
        EXPECT_TRUE(result.at("experiment_name").is_string());
        log.rows.push_back(row);
    }
    log.out_of_bounds = json.at("out_of_bounds").at("count");
    log.out_of_bounds_word = json.at("out_of_bounds").at("okay") == "true" ? "OK" : "FAILED";
    log.average = json.at("average_bus_bandwidth").at("bandwidth");
    EXPECT_TRUE(json.at("average_bus_bandwidth").at("okay").is_string());
    EXPECT_TRUE(json.at("errors").is_array());
    return log;
}

}  // namespace rondo::testing
