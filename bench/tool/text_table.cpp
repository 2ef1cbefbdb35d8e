// The table on the terminal.
#include "bench/tool/text_table.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>

namespace rondo::bench {
namespace {

constexpr const char* preamble_format = "{:>12}  {:>12}  {:>8}  {:>6}  {:>6}";
constexpr const char* title_format = "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}";

std::string half_titles(const Header& header, bool units) {
    const char* const time = header.cpu_time ? "cputime" : "time";
    std::string text =
        units ? fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", "(us)", "(GB/s)", "(GB/s)", "")
              : fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", time, "algbw", "busbw", "#wrong");
    if (!header.per_iteration) return text;
    return text +
           (units
                ? fmt::format("  {:>7}  {:>7}  {:>7}  {:>7}", "(us)", "(us)", "(us)", "(%)")
                : fmt::format("  {:>7}  {:>7}  {:>7}  {:>7}", "i_min", "i_max", "i_p99", "i_cv%"));
}

/// Titles of Rondo's own columns. "oop" is out of place, "ip" in place; the spread is how far the
/// quartiles of the rounds lie apart.
std::string own_titles(const Report& report, bool units) {
    std::string text = units
                           ? fmt::format("  {:>20}  {:>9}  {:>7}  {:>7}  {:>7}  {:>7}", "", "(us)",
                                         "oop", "ip", "oop", "ip")
                           : fmt::format("  {:>20}  {:>9}  {:>7}  {:>7}  {:>7}  {:>7}", "strategy",
                                         "simulated", "%limit", "%limit", "%spread", "%spread");
    for (const std::string& peer : report.peers) {
        text += units ? fmt::format("  {:>9}  {:>6}  {:>9}  {:>6}", "oop (us)", "x", "ip (us)", "x")
                      : fmt::format("  {:>17}  {:>17}", peer, peer);
    }
    return text;
}

std::string half_text(const Header& header, const std::optional<Half>& half) {
    static const Half nothing;
    const Half& shown = half ? *half : nothing;
    std::string text = fmt::format("  {:>7}  {:>6}  {:>6}  ", fitted(shown.us.median, 7),
                                   fitted(shown.alg_bw, 6), fitted(shown.bus_bw, 6));
    text += shown.wrong ? fmt::format("{:>6}", *shown.wrong) : "   N/A";
    if (!header.per_iteration) return text;
    const IterationStatistics statistics = shown.iterations.value_or(IterationStatistics());
    for (const double value :
         {statistics.minimum, statistics.maximum, statistics.p99, statistics.variation_percent()}) {
        text += fmt::format("  {:>7}", fitted(value, 7));
    }
    return text;
}

std::string percent_text(const std::optional<Half>& half) {
    if (!half || half->limit_ratio() == 0) return "-";
    return fmt::format("{:.1f}", 100 * half->limit_ratio());
}

std::string spread_text(const std::optional<Half>& half) {
    return half && half->us.median > 0 ? fmt::format("{:.1f}", half->us.percent()) : "-";
}

const PeerTime* find_peer(const std::optional<Half>& half, const std::string& name) {
    if (!half) return nullptr;
    for (const PeerTime& peer : half->peers) {
        if (peer.name == name) return &peer;
    }
    return nullptr;
}

std::string peer_text(const Report& report, const Row& row, const std::optional<Half>& half,
                      const std::string& name) {
    const PeerTime* const peer = find_peer(half, name);
    if (peer == nullptr || peer->us.median == 0) {
        return fmt::format("  {:>9}  {:>6}", peer == nullptr ? "-" : "failed", "-");
    }
    const double speedup = speedup_over(*peer, report, row, *half);
    return fmt::format("  {:>9}  {:>6}", fitted(peer->us.median, 9),
                       speedup > 0 ? fitted(speedup, 6) : "-");
}

}  // namespace

std::string fitted(double value, int width) {
    for (const int decimals : {2, 1, 0}) {
        const std::string text = fmt::format("{:.{}f}", value, decimals);
        if (text.size() <= static_cast<std::size_t>(width)) return text;
    }
    return fmt::format("{:.{}e}", value, width >= 7 ? 1 : 0);
}

std::string header_text(const Header& header) {
    const bool factor = header.sizes.step_factor > 1;
    std::string text = fmt::format(
        "# rondo-bench version {} nccl-tests format\n"
        "# Collective test starting: {}\n"
        "# nThread {} nGpus {} minBytes {} maxBytes {} step: {}({}) warmup iters: {} iters: {} "
        "agg iters: {} validation: {} graph: {} unalign: {}\n",
        header.version, to_string(header.operation), header.threads, header.gpus,
        header.sizes.first, header.sizes.last,
        factor ? header.sizes.step_factor : header.sizes.step_bytes, factor ? "factor" : "bytes",
        header.warm_up, header.iterations, header.aggregate, header.check, header.graphs,
        header.unalign);
    if (header.blocking != 0) text += fmt::format("# Blocking mode {}\n", header.blocking);
    if (header.per_iteration) {
        text += fmt::format("# Per-Iteration Report: event timing; summary skips first {}\n",
                            header.per_iteration_skip);
    }
    text += fmt::format(
        "# Times are measured on {}; medians of {} interleaved rounds, %spread: how far their "
        "quartiles lie apart.{}\n#\n# Using devices\n",
        header.virtual_gpus ? "virtual GPUs" : "GPUs", header.rounds,
        header.virtual_gpus ? " The column 'simulated' is a prediction for " + header.topology + "."
                            : "");
    for (const Device& device : header.devices) {
        text += fmt::format("#  Rank {:>2} Group {:>2} Pid {:>6} on {:>10} device {:>2} [{}] {}\n",
                            device.rank, 0, getpid(), header.host, device.device, device.bus,
                            device.name);
    }
    return text;
}

std::string titles_text(const Report& report) {
    const Header& header = report.header;
    const std::string stamp = header.timestamps ? fmt::format("{:>21}", "timestamp") : "";
    const std::string stamp_unit =
        header.timestamps ? fmt::format("{:>21}", "%Y-%m-%d %H:%M:%S") : "";
    const auto width = half_titles(header, false).size();
    std::string text = "#\n" + fmt::format(fmt::runtime(title_format), "", "", "", "", "");
    text += fmt::format("{:^{}}{:^{}}{}  {}\n", "out-of-place", width, "in-place", width,
                        std::string(stamp.size(), ' '), "Rondo's own columns");
    text += fmt::format(fmt::runtime(title_format), "size", "count", "type", "redop", "root") +
            half_titles(header, false) + half_titles(header, false) + stamp +
            own_titles(report, false) + "\n";
    text += fmt::format(fmt::runtime(title_format), "(B)", "(elements)", "", "", "") +
            half_titles(header, true) + half_titles(header, true) + stamp_unit +
            own_titles(report, true) + "\n";
    return text;
}

std::string row_text(const Report& report, const Row& row) {
    std::string text =
        fmt::format(fmt::runtime(preamble_format), row.size, row.count, row.type, row.op, row.root);
    text += half_text(report.header, row.out_of_place) + half_text(report.header, row.in_place);
    if (report.header.timestamps) text += fmt::format("{:>21}", row.timestamp);
    text += fmt::format("  {:>20}  {:>9}  {:>7}  {:>7}  {:>7}  {:>7}", row.strategy,
                        row.simulated_us > 0 ? fitted(row.simulated_us, 9) : "-",
                        percent_text(row.out_of_place), percent_text(row.in_place),
                        spread_text(row.out_of_place), spread_text(row.in_place));
    for (const std::string& peer : report.peers) {
        text += peer_text(report, row, row.out_of_place, peer) +
                peer_text(report, row, row.in_place, peer);
    }
    return text + "\n";
}

std::string footer_text(const Report& report) {
    const std::int64_t wrong = report.wrong();
    const char* const judged =
        report.least_bus_bw < 0 ? "" : (report.bus_bw_failed() ? "FAILED" : "OK");
    std::string text = fmt::format(
        "# {:<20} : {} {}\n# {:<20} : {:g} {}\n#\n# Collective test concluded: {}\n",
        "Out of bounds values", wrong, wrong == 0 ? "OK" : "FAILED", "Avg bus bandwidth",
        report.average_bus_bw(), judged, to_string(report.header.operation));
    for (const std::string& note : report.notes) text += "# note: " + note + "\n";
    for (const std::string& error : report.errors) text += "# error: " + error + "\n";
    if (!report.verdict.empty()) text += "# " + report.verdict + "\n";
    return text;
}

}  // namespace rondo::bench
