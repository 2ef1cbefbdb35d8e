// rondo-bench: measures collectives, checks them, and compares them with limits and peers.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "bench/tool/growth.hpp"
#include "bench/tool/options.hpp"
#include "bench/tool/output_files.hpp"
#include "bench/tool/runtime.hpp"
#include "bench/tool/session.hpp"
#include "bench/tool/text_table.hpp"
#include "bench/tool/verdict.hpp"

namespace {

using namespace rondo;
using namespace rondo::bench;

/// One line on a terminal that is written over and over; nothing elsewhere.
class ProgressLine {
public:
    void show(const std::string& text) {
        if (!terminal_) return;
        fmt::print(stderr, "\r\033[K{:.100}", text);
        std::fflush(stderr);
    }
    void clear() { show(""); }

private:
    const bool terminal_ = isatty(STDERR_FILENO) != 0;
};

Demands demands_of(const Options& options) {
    Demands demands{.limit_ratio = options.least_limit_ratio};
    for (const LeastSpeedup& least : options.least_speedups) {
        demands.speedups.emplace_back(least.peer, least.ratio);
    }
    return demands;
}

int judge(const Options& options, const Report& report) {
    if (report.wrong() > 0 || report.bus_bw_failed() || !report.errors.empty()) return exit_failed;
    const std::vector<std::string> missed = missed_demands(report, demands_of(options));
    for (const std::string& text : missed) fmt::print("# too slow: {}\n", text);
    return missed.empty() ? exit_ok : exit_too_slow;
}

int grow(const Options& options, Session& session, const Listener& listener) {
    fmt::print("# {} with {}\n{}", to_string(options.operation), to_string(options.strategies[0]),
               growth_titles());
    session.run_growth(listener);
    const Report& report = session.finish();
    for (const std::string& note : report.notes) fmt::print("# note: {}\n", note);
    write_outputs(options, report);
    return exit_ok;
}

int run(const Options& options) {
    ProgressLine progress;
    Session session(options);
    const Listener listener{.started =
                                [](const Report& report) {
                                    fmt::print("{}{}", header_text(report.header),
                                               titles_text(report));
                                },
                            .row =
                                [&](const Report& report, const Row& row) {
                                    progress.clear();
                                    fmt::print("{}", row_text(report, row));
                                    if (options.explain && !row.reason.empty()) {
                                        fmt::print("#   {}: {}\n", row.strategy, row.reason);
                                    }
                                    std::fflush(stdout);
                                },
                            .point =
                                [&](const GrowthPoint& point) {
                                    fmt::print("{}", growth_line(point));
                                    std::fflush(stdout);
                                },
                            .progress = [&](const std::string& text) { progress.show(text); }};
    if (options.growth) return grow(options, session, listener);
    for (int cycle = 0; options.cycles == 0 || cycle < options.cycles; ++cycle) {
        session.run_cycle(listener);
    }
    const bool detailed = !options.html_file.empty();
    if (detailed || options.first_calls) {
        progress.show("first calls");
        session.measure_first_calls();
    }
    if (detailed) {
        progress.show("predictions");
        session.predict_choices();
    }
    progress.clear();
    const Report& report = session.finish();
    fmt::print("{}", footer_text(report));
    write_outputs(options, report);
    if (std::fflush(stdout) != 0) throw Error("standard output can't be written");
    return judge(options, report);
}

}  // namespace

int main(int argc, char** argv) {
    const ParsedOptions parsed = parse_options(argc, argv);
    if (!parsed.options) return parsed.exit_code;
    try {
        switch_to_gpus(parsed.options->gpu, argv);
        prepare_runtime(parsed.options->topology, parsed.options->ranks());
        require_writable_outputs(*parsed.options);
        return run(*parsed.options);
    } catch (const InvalidArgument& error) {
        fmt::print(stderr, "rondo-bench: {}\n", error.what());
        return exit_usage;
    } catch (const std::exception& error) {
        fmt::print(stderr, "rondo-bench: {}\n", error.what());
        return exit_failed;
    }
}
