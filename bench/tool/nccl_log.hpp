// Reads what nccl-tests wrote on another machine: its text output or its JSON file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rondo::bench {

struct LogHalf {
    double us = 0;
    double alg_bw = 0;
    double bus_bw = 0;
    std::optional<double> wrong = {};
};

struct LogRow {
    std::uint64_t size = 0;
    std::uint64_t count = 0;
    std::string type;
    std::string op;
    int root = -1;
    std::optional<LogHalf> out_of_place = {};
    std::optional<LogHalf> in_place = {};
};

struct NcclLog {
    std::string collective = {};  ///< "all_reduce", where the log tells
    int ranks = 0;                ///< 0: the log does not tell
    std::string devices = {};     ///< "8 x NVIDIA H100"
    std::vector<LogRow> rows = {};
    std::string start_time = {};
};

/// Either format. Lines that are no rows (warnings of the system, progress) are left out. Throws
/// InvalidArgument when there is no row, or when JSON is broken; it names the place.
NcclLog parse_nccl_log(std::string_view text);

/// The same from a file. Throws InvalidArgument that names it.
NcclLog read_nccl_log(const std::string& file);

}  // namespace rondo::bench
