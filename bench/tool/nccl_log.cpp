// Reads what nccl-tests wrote on another machine: its text output or its JSON file.
#include "bench/tool/nccl_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "rondo/error.hpp"

namespace rondo::bench {
namespace {

using LogJson = nlohmann::json;

template <class Number>
std::optional<Number> to_number(std::string_view text) {
    Number number{};
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || rest != end) return {};
    return number;
}

std::vector<std::string_view> words_of(std::string_view line) {
    std::vector<std::string_view> words;
    while (true) {
        const std::size_t begin = line.find_first_not_of(" \t\r");
        if (begin == std::string_view::npos) return words;
        const std::size_t end = std::min(line.find_first_of(" \t\r", begin), line.size());
        words.push_back(line.substr(begin, end - begin));
        line.remove_prefix(end);
    }
}

/// "all_reduce" of "./build/all_reduce_perf" and of "alltoall_perf_mpi".
std::string collective_of(std::string_view program) {
    program.remove_prefix(std::min(program.find_last_of('/') + 1, program.size()));
    if (const auto end = program.find("_perf"); end != std::string_view::npos) {
        program = program.substr(0, end);
    }
    return program == "alltoall" ? "all_to_all" : std::string(program);
}

std::string counted(const std::map<std::string, int>& names) {
    std::string text;
    for (const auto& [name, count] : names) {
        text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", count, name);
    }
    return text;
}

// ---- text
// ----------------------------------------------------------------------------------------

/// time algbw busbw #wrong, from word `at` on.
std::optional<LogHalf> text_half(const std::vector<std::string_view>& words, std::size_t at) {
    if (at + 4 > words.size()) return {};
    const auto us = to_number<double>(words[at]), alg = to_number<double>(words[at + 1]),
               bus = to_number<double>(words[at + 2]);
    if (!us || !alg || !bus) return {};
    return LogHalf{*us, *alg, *bus, to_number<double>(words[at + 3])};
}

std::optional<LogRow> text_row(const std::vector<std::string_view>& words, bool per_iteration) {
    constexpr std::size_t preamble = 5, half = 4, statistics = 4;
    if (words.size() < preamble + half) return {};
    const auto size = to_number<std::uint64_t>(words[0]),
               count = to_number<std::uint64_t>(words[1]);
    const auto root = to_number<int>(words[4]);
    if (!size || !count || !root || to_number<double>(words[2])) return {};
    LogRow row{*size, *count, std::string(words[2]), std::string(words[3]), *root, {}, {}};
    const std::size_t second = preamble + half + (per_iteration ? statistics : 0);
    row.out_of_place = text_half(words, preamble);
    row.in_place = text_half(words, second);
    if (!row.out_of_place) return {};
    return row;
}

class TextLog {
public:
    void take(std::string_view line) {
        const std::vector<std::string_view> words = words_of(line);
        if (words.empty()) return;
        if (words[0].starts_with('#')) {
            take_comment(line, words);
        } else if (auto row = text_row(words, per_iteration_)) {
            log_.rows.push_back(std::move(*row));
        }
    }

    NcclLog finish() {
        log_.devices = counted(devices_);
        return std::move(log_);
    }

private:
    void take_comment(std::string_view line, const std::vector<std::string_view>& words) {
        if (std::ranges::find(words, "i_p99") != words.end()) per_iteration_ = true;
        if (line.find("test starting:") != std::string_view::npos) {
            log_.collective = collective_of(words.back());
        }
        if (words.size() > 2 && words[1] == "Rank" &&
            line.find("device") != std::string_view::npos) {
            ++log_.ranks;
            const std::size_t name = line.find("] ");
            if (name != std::string_view::npos) ++devices_[std::string(line.substr(name + 2))];
        }
    }

    NcclLog log_;
    bool per_iteration_ = false;
    std::map<std::string, int> devices_;
};

NcclLog parse_text(std::string_view text) {
    TextLog log;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        if (line.ends_with('\r')) line.remove_suffix(1);
        log.take(line);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return log.finish();
}

// ---- JSON
// ----------------------------------------------------------------------------------------

/// A number, or the word nan, or missing.
std::optional<double> json_number(const LogJson& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_number()) return {};
    return found->get<double>();
}

std::string json_text(const LogJson& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<LogHalf> json_half(const LogJson& row, const char* key) {
    const auto found = row.find(key);
    if (found == row.end() || !found->is_object()) return {};
    auto us = json_number(*found, "time");
    if (!us) us = json_number(*found, "cpu_time");
    if (!us) return {};
    return LogHalf{*us, json_number(*found, "alg_bw").value_or(0),
                   json_number(*found, "bus_bw").value_or(0), json_number(*found, "nwrong")};
}

/// 0 for what is no count.
std::uint64_t json_count(const LogJson& object, const char* key) {
    const double value = json_number(object, key).value_or(0);
    return value >= 0 && value < 9e15 ? static_cast<std::uint64_t>(value) : 0;
}

LogRow json_row(const LogJson& object) {
    LogRow row{json_count(object, "size"),
               json_count(object, "count"),
               json_text(object, "type"),
               json_text(object, "redop"),
               -1,
               json_half(object, "out_of_place"),
               json_half(object, "in_place")};
    const std::string root = json_text(object, "root");
    const auto words = words_of(root);
    if (!words.empty()) row.root = to_number<int>(words[0]).value_or(-1);
    return row;
}

void read_devices(const LogJson& config, NcclLog& log) {
    const auto devices = config.find("devices");
    std::map<std::string, int> names;
    if (devices != config.end() && devices->is_array()) {
        for (const LogJson& device : *devices) {
            if (device.is_object()) ++names[json_text(device, "device_info")];
        }
        log.ranks = static_cast<int>(devices->size());
    }
    // A log of one process lists its first device only; it still tells how many there were.
    const double all =
        json_number(config, "nthreads").value_or(1) * json_number(config, "ngpus").value_or(1);
    if (all > log.ranks && all < 1e6) {
        log.ranks = static_cast<int>(all);
        if (names.size() == 1) names.begin()->second = log.ranks;
    }
    log.devices = counted(names);
}

NcclLog parse_json(std::string_view text) {
    const LogJson json = LogJson::parse(text, nullptr, false);
    if (json.is_discarded()) {
        try {
            [[maybe_unused]] const LogJson again = LogJson::parse(text);
        } catch (const LogJson::exception& error) {
            throw InvalidArgument(
                fmt::format("the JSON of nccl-tests is broken: {}", error.what()));
        }
    }
    NcclLog log;
    if (!json.is_object()) throw InvalidArgument("the JSON of nccl-tests must be an object");
    if (const auto config = json.find("config"); config != json.end() && config->is_object()) {
        read_devices(*config, log);
    }
    if (const auto args = json.find("args");
        args != json.end() && args->is_array() && !args->empty() && args->front().is_string()) {
        log.collective = collective_of(args->front().get<std::string>());
    }
    log.start_time = json_text(json, "start_time");
    if (const auto results = json.find("results"); results != json.end() && results->is_array()) {
        for (const LogJson& row : *results) {
            if (!row.is_object()) continue;
            if (const std::string name = json_text(row, "experiment_name"); !name.empty()) {
                log.collective = collective_of(name);
            }
            log.rows.push_back(json_row(row));
        }
    }
    return log;
}

}  // namespace

NcclLog parse_nccl_log(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    const bool json = first != std::string_view::npos && text[first] == '{';
    NcclLog log = json ? parse_json(text) : parse_text(text);
    if (log.rows.empty()) throw InvalidArgument("there is no row of nccl-tests in it");
    return log;
}

NcclLog read_nccl_log(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) throw InvalidArgument(fmt::format("{} can't be read", file));
    const std::string text((std::istreambuf_iterator<char>(stream)), {});
    try {
        return parse_nccl_log(text);
    } catch (const InvalidArgument& error) {
        throw InvalidArgument(fmt::format("{}: {}", file, error.what()));
    }
}

}  // namespace rondo::bench
