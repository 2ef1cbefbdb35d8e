// The same figures for a spreadsheet: one line per row and half.
#include "bench/tool/csv_output.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rondo::bench {
namespace {

std::string csv_cell(const std::string& text) {
    if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + "\"";
}

std::string csv_half(const Report& report, const Row& row, const Half& half, const char* place) {
    std::string line = fmt::format(
        "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}", to_string(report.header.operation),
        report.header.ranks(), row.size, row.count, row.type, row.op, row.root, place,
        csv_cell(row.strategy), half.us.median, half.us.low, half.us.high, half.alg_bw, half.bus_bw,
        half.wrong ? std::to_string(*half.wrong) : "", row.simulated_us);
    line += fmt::format(",{},{},{},{},{}", half.loop_us.median, half.hand_written_us.median,
                        half.limit_ratio(), half.link_us.median, row.bound_us);
    for (const std::string& name : report.peers) {
        const auto found = std::ranges::find(half.peers, name, &PeerTime::name);
        const bool there = found != half.peers.end() && found->us.median > 0;
        line +=
            there ? fmt::format(",{},{}", found->us.median, speedup_over(*found, report, row, half))
                  : ",,";
    }
    return line + "\n";
}

}  // namespace

std::string to_csv(const Report& report) {
    std::string text =
        "collective,ranks,size,count,type,redop,root,placement,strategy,measured_us,"
        "quartile_low_us,quartile_high_us,algbw,busbw,wrong,simulated_us,"
        "read_write_loop_us,hand_written_us,limit_ratio,link_copies_us,topology_bound_us";
    for (const std::string& name : report.peers) {
        text += "," + csv_cell(name + "_us") + "," + csv_cell(name + "_speedup");
    }
    text += "\n";
    for (const Row& row : report.rows) {
        if (row.out_of_place) text += csv_half(report, row, *row.out_of_place, "out_of_place");
        if (row.in_place) text += csv_half(report, row, *row.in_place, "in_place");
    }
    return text;
}

}  // namespace rondo::bench
