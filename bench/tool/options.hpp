// What the user asked for: nccl-tests' options with their meaning and defaults, then Rondo's own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/tool/operation.hpp"
#include "bench/tool/sizes.hpp"
#include "rondo/strategy.hpp"

namespace rondo::bench {

struct LeastSpeedup {
    std::string peer;
    double ratio = 0;
};

struct Options {
    Operation operation = Operation::all_reduce;
    // nccl-tests'
    int threads = 1, gpus = 1;
    SizeRange sizes = {};
    int iterations = 20, warm_up = 1, aggregate = 1, cycles = 1, check = 1;
    std::vector<ReduceOp> ops = {ReduceOp::sum};
    std::vector<ElementType> types = {ElementType::f32};
    int root = 0;  ///< below 0: all
    int blocking = 0, graphs = 0, unalign = 0, average = 1;
    int timeout_seconds = 0;
    bool cpu_time = false, timestamps = false, memory = false, per_iteration = false;
    int per_iteration_skip = 0;
    std::string json_file = {};
    // Rondo's
    std::string gpu = "auto";
    std::string topology = {};
    std::vector<Strategy> strategies = {Strategy()};
    bool every_strategy = false;  ///< all: those that do not apply are left out
    std::vector<std::string> against = {};
    std::vector<std::string> logs = {};
    std::vector<std::string> tensors = {};  ///< batch_reduce: a model's name, or counts
    double least_limit_ratio = 0;
    std::vector<LeastSpeedup> least_speedups = {};
    std::string csv_file = {}, html_file = {};
    bool explain = false, no_limit = false, first_calls = false, growth = false;
    int rounds = 7;
    double round_milliseconds = 5;
    // For tests
    int inject_wrong = 0;
    bool limit_by_links = false;  ///< as on GPUs
    std::string kill_peer = {};
    std::vector<std::string> notes = {};  ///< options that have no meaning here
    std::vector<std::string> arguments = {};

    int ranks() const { return threads * gpus; }
};

/// Nothing to do but to end with that code: --help, or wrong usage that was explained.
struct ParsedOptions {
    std::optional<Options> options;
    int exit_code = 0;
};
ParsedOptions parse_options(int argc, const char* const* argv);

/// "ring", "tree:2", "hierarchical:8", "tree(2)"; all is not one. Throws InvalidArgument.
Strategy parse_strategy_option(const std::string& text);

inline constexpr int exit_ok = 0, exit_failed = 1, exit_usage = 2, exit_too_slow = 3;

}  // namespace rondo::bench
