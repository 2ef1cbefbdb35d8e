// What the user asked for: nccl-tests' options with their meaning and defaults, then Rondo's own.
#include "bench/tool/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "rondo/error.hpp"

namespace rondo::bench {
namespace {

constexpr const char* bench_description =
    "Measures collectives of Rondo, checks their results, and compares them with limits and other "
    "libraries.\nThe options with one letter, the columns and the JSON file are nccl-tests' own; "
    "behind them stand the strategy that\nran, the time that simulation predicts, and the share of "
    "the limit that was reached. All contestants take turns;\nmedians count.";

constexpr const char* bench_examples =
    "Examples:\n"
    "  rondo-bench all_reduce -g 8 -b 8 -e 64M -f 8                      eight GPUs, 8 B to 64 "
    "MiB\n"
    "  rondo-bench all_reduce -g 8 --against openmpi --against gloo --html report.html\n"
    "  rondo-bench all_gather -g 4 -b 1M -e 1M --strategy all            every strategy\n"
    "  rondo-bench all_reduce -g 8 --topology dgx1_v100 --against-log dgx1.log\n"
    "                                                      beside NCCL's numbers from a real "
    "machine\n"
    "  rondo-bench batch_reduce -g 8 --tensors resnet50                  gradients of ResNet-50\n"
    "  rondo-bench all_reduce --growth                                   1 to 64 GPUs, 8 B to 256 "
    "MiB\n\n"
    "Exit codes: 0 done, 1 a wrong result, an error, or less bandwidth than NCCL_TESTS_MIN_BW,\n"
    "2 wrong usage, 3 slower than --min-limit-ratio or --min-speedup ask.";

/// Options as text, before they mean something.
struct RawOptions {
    std::string operation, first = "32M", last = "32M", step = "1M";
    std::uint64_t factor = 1;
    std::string op = "sum", type = "float", root = "0";
    int cpu_time = 0, timestamps = 0, memory = 0, per_iteration = 0, parallel_init = 0;
    int registration = 0, null_stream = 0, cta_policy = 0, device_implementation = 0, ctas = 16;
    std::vector<std::string> strategies{"auto"};
    std::vector<std::string> least_speedups;
};

void add_nccl_options(CLI::App& app, Options& options, RawOptions& raw) {
    const auto group = std::string("nccl-tests' options");
    const auto add = [&](const std::string& names, auto& value, const std::string& text) {
        return app.add_option(names, value, text)->group(group)->capture_default_str()->take_last();
    };
    add("-t,--nthreads", options.threads, "Threads")->check(CLI::Range(1, 64));
    add("-g,--ngpus", options.gpus, "GPUs per thread")->check(CLI::Range(1, 1024));
    add("-b,--minbytes", raw.first, "Smallest size, with K, M or G");
    add("-e,--maxbytes", raw.last, "Largest size");
    add("-i,--stepbytes", raw.step, "Bytes from one size to the next");
    add("-f,--stepfactor", raw.factor, "Factor from one size to the next; above 1 it wins over -i");
    add("-n,--iters", options.iterations, "Iterations, at least; cut into interleaved rounds")
        ->check(CLI::Range(1, 1'000'000));
    add("-w,--warmup_iters", options.warm_up, "Iterations before each round that are not timed")
        ->check(CLI::Range(0, 1'000'000));
    add("-m,--agg_iters", options.aggregate, "Calls per iteration")->check(CLI::Range(1, 100'000));
    add("-N,--run_cycles", options.cycles, "Run all sizes so many times; 0: for ever")
        ->check(CLI::Range(0, 1'000'000));
    add("-c,--check", options.check, "Check the result so many times per row; 0: never")
        ->check(CLI::Range(0, 1'000'000));
    add("-o,--op", raw.op, "sum, prod, min, max, avg, mulsum or all");
    add("-d,--datatype", raw.type, "float, half, bfloat16, int8 ... or all");
    add("-r,--root", raw.root, "Rank, or all");
    add("-z,--blocking", options.blocking,
        "0: enqueue all, then wait; 1, 2: wait after each call; 3: after each iteration")
        ->check(CLI::Range(0, 3));
    add("-G,--cudagraph", options.graphs, "Capture the iterations and replay so many times")
        ->check(CLI::Range(0, 1'000'000));
    add("-C,--report_cputime", raw.cpu_time, "1: the time that enqueueing takes")
        ->check(CLI::Range(0, 1));
    add("-a,--average", options.average, "Of several processes; here there is one")
        ->check(CLI::Range(0, 3));
    add("-I,--per_iter_timing", raw.per_iteration, "1: also time single iterations, by events")
        ->check(CLI::Range(0, 1));
    add("-K,--per_iter_skip", options.per_iteration_skip, "Leave the first out of -I's summary")
        ->check(CLI::Range(0, 1'000'000));
    add("-J,--output_file", options.json_file, "Write JSON, version 3, to a new file");
    add("-S,--report_timestamps", raw.timestamps, "1: a timestamp on every row")
        ->check(CLI::Range(0, 1));
    add("-u,--unalign", options.unalign, "Begin so many elements behind an aligned address")
        ->check(CLI::Range(0, 4096));
    add("-T,--timeout", options.timeout_seconds, "Give up after so many seconds; 0: never")
        ->check(CLI::Range(0, 1'000'000));
    add("-M,--memory", raw.memory, "1: report the memory that the communicator takes")
        ->check(CLI::Range(0, 1));
    for (auto& [names, value] :
         {std::pair<const char*, int*>{"-p,--parallel_init", &raw.parallel_init},
          {"-R,--local_register", &raw.registration},
          {"-y,--null_stream", &raw.null_stream},
          {"-x,--cta_policy", &raw.cta_policy},
          {"-D,--device_implementation", &raw.device_implementation},
          {"-V,--device_cta_count", &raw.ctas}}) {
        add(names, *value, "Accepted; it means nothing to Rondo");
    }
}

void add_own_options(CLI::App& app, Options& options, RawOptions& raw) {
    const auto group = std::string("Rondo's own options");
    const auto add = [&](const std::string& names, auto& value, const std::string& text) {
        return app.add_option(names, value, text)->group(group);
    };
    add("--gpu", options.gpu, "auto (GPUs where there are any), cuda or virtual")
        ->capture_default_str()
        ->check(CLI::IsMember({"auto", "cuda", "virtual"}));
    add("--topology", options.topology,
        "Virtual GPUs are wired like that: a preset (dgx1_v100), a count or a JSON file");
    add("--strategy", raw.strategies,
        "auto, ring, tree:2, centralized, hierarchical:8, direct, forest or all; repeatable")
        ->allow_extra_args(false)
        ->capture_default_str();
    add("--against", options.against,
        "Compare with nccl, nccl:FILE.so, openmpi, mpich or gloo; repeatable")
        ->allow_extra_args(false);
    add("--against-log", options.logs,
        "Compare with a saved log of nccl-tests, text or JSON; repeatable")
        ->allow_extra_args(false)
        ->check(CLI::ExistingFile);
    add("--tensors", options.tensors,
        "batch_reduce: resnet50, gpt2, or numbers of elements: 1000,20")
        ->allow_extra_args(false)
        ->delimiter(',');
    add("--min-limit-ratio", options.least_limit_ratio,
        "Exit code 3 unless this share of the limit is reached in every row")
        ->check(CLI::Range(0.0, 100.0));
    add("--min-speedup", raw.least_speedups,
        "PEER:X. Exit code 3 unless Rondo is X times as fast in every row; repeatable")
        ->allow_extra_args(false);
    add("--csv", options.csv_file, "Write the figures for a spreadsheet");
    add("--html", options.html_file, "Write a report with charts, one file");
    app.add_flag("--explain", options.explain, "Say why each strategy was chosen")->group(group);
    app.add_flag("--no-limit", options.no_limit, "Do not measure the limits")->group(group);
    app.add_flag("--first-calls", options.first_calls,
                 "Also time the first calls of new communicators (always with --html)")
        ->group(group);
    app.add_flag(
           "--growth", options.growth,
           "Instead of a table: time and memory for 1 to -g (64) GPUs and -b (8) to -e (256M) "
           "bytes")
        ->group(group);
    add("--rounds", options.rounds, "Turns of each contestant; their median counts")
        ->capture_default_str()
        ->check(CLI::Range(1, 1000));
    add("--round-time", options.round_milliseconds,
        "A turn lasts at least so many milliseconds, where -n allows less")
        ->capture_default_str()
        ->check(CLI::Range(0.0, 60000.0));
    add("--inject-wrong", options.inject_wrong, "")->group("");  // tests: spoil so many elements
    add("--kill-peer", options.kill_peer, "")->group("");        // tests: PEER:K, at its k-th turn
    app.add_flag("--limit-by-links", options.limit_by_links, "")->group("");  // tests: as on GPUs
}

template <class Value>
Value number_of(const std::string& text, const char* what) {
    Value value{};
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || rest != text.data() + text.size()) {
        throw InvalidArgument(fmt::format("'{}' is no {}", text, what));
    }
    return value;
}

std::vector<Strategy> all_strategies() {
    return {Strategy::automatic(), Strategy::direct(),      Strategy::ring(),
            Strategy::tree(2),     Strategy::centralized(), Strategy::hierarchical_copy(8),
            Strategy::forest()};
}

void take_strategies(Options& options, const std::vector<std::string>& names) {
    options.strategies.clear();
    for (const std::string& name : names) {
        if (name == "all") {
            options.every_strategy = true;
            const auto all = all_strategies();
            options.strategies.insert(options.strategies.end(), all.begin(), all.end());
        } else {
            options.strategies.push_back(parse_strategy_option(name));
        }
    }
}

LeastSpeedup parse_least_speedup(const std::string& text) {
    const auto colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0) {
        throw InvalidArgument(fmt::format("'{}' must be PEER:X, for instance openmpi:5", text));
    }
    return {text.substr(0, colon), number_of<double>(text.substr(colon + 1), "factor")};
}

void note_what_is_ignored(Options& options, const RawOptions& raw) {
    const auto note = [&](bool given, const char* text) {
        if (given) options.notes.emplace_back(text);
    };
    note(raw.parallel_init != 0, "-p was ignored: a communicator of one process starts at once");
    note(raw.registration != 0, "-R was ignored: Rondo needs no registration of buffers");
    note(raw.null_stream != 0, "-y was ignored: every rank has a stream of its own");
    note(raw.cta_policy != 0, "-x was ignored: Rondo chooses its blocks itself");
}

void interpret(Options& options, const RawOptions& raw, const CLI::App& app) {
    options.operation = parse_operation(raw.operation);
    options.sizes = {parse_bytes(raw.first), parse_bytes(raw.last), parse_bytes(raw.step),
                     raw.factor};
    if (options.growth) {
        if (app.count("-b") == 0) options.sizes.first = 8;
        if (app.count("-e") == 0) options.sizes.last = 256u << 20;
        if (app.count("-f") == 0) options.sizes.step_factor = 8;
        if (app.count("-g") == 0) options.gpus = 64;
    }
    // One end that is named moves the other where it would lie beyond.
    if (app.count("-b") == 0)
        options.sizes.first = std::min(options.sizes.first, options.sizes.last);
    if (app.count("-e") == 0)
        options.sizes.last = std::max(options.sizes.first, options.sizes.last);
    sizes_of(options.sizes);
    if (has_operator(options.operation)) {
        if (raw.op == "all") {
            options.ops.assign(all_reduce_ops.begin(), all_reduce_ops.end());
        } else {
            options.ops = {parse_nccl_op(raw.op)};
        }
    }
    if (raw.type == "all") {
        options.types.assign(all_element_types.begin(), all_element_types.end());
    } else {
        options.types = {parse_nccl_type(raw.type)};
    }
    options.root = raw.root == "all" ? -1 : number_of<int>(raw.root, "root");
    if (options.root >= options.ranks()) {
        throw InvalidArgument(
            fmt::format("root {} is no rank: there are {}", options.root, options.ranks()));
    }
    if (raw.device_implementation != 0) {
        throw InvalidArgument("-D: Rondo has no device implementations of its own");
    }
    options.cpu_time = raw.cpu_time != 0;
    options.timestamps = raw.timestamps != 0;
    options.memory = raw.memory != 0;
    options.per_iteration = raw.per_iteration != 0;
    if (options.graphs > 0 &&
        (options.threads > 1 || options.per_iteration || options.blocking == 3)) {
        throw InvalidArgument("-G can't be combined with -t, -I 1 or -z 3");
    }
    if (options.operation == Operation::batch_reduce && options.threads > 1) {
        throw InvalidArgument("batch_reduce is one call for all ranks: use -t 1");
    }
    if (options.operation == Operation::batch_reduce && options.graphs > 0) {
        throw InvalidArgument(
            "batch_reduce makes new memory for its results in every call; a graph would write the "
            "same memory at every replay, so -G would measure something else. Take all_reduce -G");
    }
    if (options.operation == Operation::sendrecv && options.ranks() < 2 && !options.growth) {
        throw InvalidArgument("sendrecv needs at least two GPUs: -g 2");
    }
    take_strategies(options, raw.strategies);
    for (const std::string& text : raw.least_speedups) {
        options.least_speedups.push_back(parse_least_speedup(text));
    }
    note_what_is_ignored(options, raw);
}

}  // namespace

Strategy parse_strategy_option(const std::string& text) {
    const auto colon = text.find(':');
    const std::string name = text.substr(0, colon);
    if (name == "auto") return Strategy::automatic();
    const std::string full = name == "hierarchical" ? "hierarchical_copy" : name;
    if (colon != std::string::npos) {
        return parse_strategy(fmt::format("{}({})", full, text.substr(colon + 1)));
    }
    if (full == "hierarchical_copy") return Strategy::hierarchical_copy(8);
    if (full == "tree") return Strategy::tree(2);
    return parse_strategy(full);
}

ParsedOptions parse_options(int argc, const char* const* argv) {
    Options options;
    RawOptions raw;
    CLI::App app(bench_description, "rondo-bench");
    app.footer(bench_examples);
    app.set_help_flag("-h,--help", "This text");
    app.add_option("collective", raw.operation,
                   "all_reduce, reduce, broadcast, reduce_scatter, all_gather, all_to_all, gather, "
                   "scatter, "
                   "batch_reduce or sendrecv")
        ->required();
    add_nccl_options(app, options, raw);
    add_own_options(app, options, raw);
    try {
        app.parse(argc, argv);
        interpret(options, raw, app);
    } catch (const CLI::ParseError& error) {
        return {{}, app.exit(error) == 0 ? exit_ok : exit_usage};
    } catch (const Error& error) {
        fmt::print(stderr, "rondo-bench: {}\n", error.what());
        return {{}, exit_usage};
    }
    options.arguments.assign(argv, argv + argc);
    return {std::move(options), exit_ok};
}

}  // namespace rondo::bench
