// One run of the program: makes the contestants, goes through the sizes, gathers the report.
#include "bench/tool/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "bench/tool/cuda_check.hpp"
#include "bench/tool/explain.hpp"
#include "bench/tool/growth.hpp"
#include "bench/tool/limits.hpp"
#include "bench/tool/machine.hpp"
#include "bench/tool/models.hpp"
#include "bench/tool/nccl_contestant.hpp"
#include "bench/tool/peer_process.hpp"
#include "bench/tool/runtime.hpp"
#include "bench/tool/verdict.hpp"
#include "rondo/version.hpp"

extern char** environ;

namespace rondo::bench {
namespace {

/// What was set for this run: names that have to do with it. The whole environment would tell
/// everybody who gets the file more than the run needs.
std::vector<std::string> own_environment() {
    std::vector<std::string> found;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string text = *variable;
        for (const char* prefix : {"RONDO_", "VGPU_", "NCCL_", "CUDA_", "OMPI_", "MPICH_"}) {
            if (text.starts_with(prefix)) found.push_back(text);
        }
    }
    return found;
}

Device describe_device(int rank, int device) {
    cudaDeviceProp properties = {};
    check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
    return {rank, device,
            fmt::format("{:04x}:{:02x}:{:02x}", properties.pciDomainID, properties.pciBusID,
                        properties.pciDeviceID),
            properties.name};
}

std::vector<int> first_devices(int count) {
    std::vector<int> devices;
    for (int device = 0; device < count; ++device) devices.push_back(device);
    return devices;
}

/// Changes the first elements of an output, as a fault would.
void spoil(const Buffers& buffers, const Case& test, int elements) {
    const Operands operands = operands_of(buffers, test);
    const std::size_t element = size_of(test.type);
    for (int i = 0; i < elements; ++i) {
        std::byte* const at = operands.outputs[static_cast<std::size_t>(test.root)] +
                              static_cast<std::size_t>(i) * element;
        std::byte value{};
        check(cudaMemcpy(&value, at, 1, cudaMemcpyDefault), "cudaMemcpy");
        value ^= std::byte{0x55};
        check(cudaMemcpy(at, &value, 1, cudaMemcpyDefault), "cudaMemcpy");
    }
}

/// "openmpi:3" for that peer: 3.
int kill_turn(const std::string& text, const std::string& peer) {
    const auto colon = text.rfind(':');
    if (colon == std::string::npos || text.substr(0, colon) != peer) return 0;
    return std::atoi(text.c_str() + colon + 1);
}

}  // namespace

Session::Session(const Options& options) : options_(options) {
    int devices = 0;
    check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    if (options_.ranks() > devices) {
        throw InvalidArgument(
            fmt::format("{} GPUs were asked for, but there are {}", options_.ranks(), devices));
    }
    report_.notes = options_.notes;
    if (const char* least = std::getenv("NCCL_TESTS_MIN_BW"))
        report_.least_bus_bw = std::atof(least);
    make_header();
    if (!options_.growth) make_contestants();  // growth makes a new one for every point
}

void Session::make_header() {
    Header& header = report_.header;
    header.operation = options_.operation;
    header.threads = options_.threads;
    header.gpus = options_.gpus;
    header.sizes = options_.sizes;
    header.warm_up = options_.warm_up;
    header.iterations = options_.iterations;
    header.aggregate = options_.aggregate;
    header.check = options_.check;
    header.graphs = options_.graphs;
    header.unalign = options_.unalign;
    header.blocking = options_.blocking;
    header.per_iteration = options_.per_iteration;
    header.per_iteration_skip = options_.per_iteration_skip;
    header.cpu_time = options_.cpu_time;
    header.timestamps = options_.timestamps;
    header.rounds = options_.rounds;
    header.version = version();
    header.start_time = time_text();
    header.host = host_name();
    header.arguments = options_.arguments;
    header.environment = own_environment();
    header.virtual_gpus = runtime_is_virtual();
    header.machine = describe_machine();
    describe_topology(header, options_.topology);
    for (int rank = 0; rank < options_.ranks(); ++rank) {
        header.devices.push_back(describe_device(rank, rank));
    }
}

void Session::make_contestants() {
    const std::vector<std::uint64_t> sizes = message_sizes();
    std::size_t largest_element = 1;
    for (const ElementType type : options_.types) {
        largest_element = std::max(largest_element, size_of(type));
    }
    const double needed = 2.0 * options_.ranks() * static_cast<double>(std::ranges::max(sizes));
    if (runtime_is_virtual() && available_memory() > 0 && needed > 0.9 * available_memory()) {
        throw InvalidArgument(
            fmt::format("{} ranks with messages of {} need {}, but only {} are free",
                        options_.ranks(), bytes_text(static_cast<double>(std::ranges::max(sizes))),
                        bytes_text(needed), bytes_text(available_memory())));
    }
    const std::vector<int> devices = first_devices(options_.ranks());
    buffers_ =
        std::make_unique<Buffers>(devices, std::ranges::max(sizes),
                                  static_cast<std::size_t>(options_.unalign) * largest_element);
    const TimingOptions timing{.threads = options_.threads,
                               .aggregate = options_.aggregate,
                               .blocking = options_.blocking,
                               .graphs = options_.graphs,
                               .graph_calls = options_.iterations,
                               .cpu_time = options_.cpu_time};
    for (const Strategy& strategy : options_.strategies) {
        CommunicatorOptions communicator{.devices = devices, .strategy = strategy};
        if (options_.timeout_seconds > 0) {
            communicator.timeout = std::chrono::seconds(options_.timeout_seconds);
        }
        strategies_.push_back(
            {strategy, std::make_unique<RondoContestant>(communicator, *buffers_, timing)});
    }
    if (runtime_is_virtual() && !options_.no_limit) {
        limits_.push_back(std::make_unique<ReadWriteLoop>(*buffers_));
        limits_.push_back(std::make_unique<HandWritten>(*buffers_));
    }
    for (const std::string& name : options_.against) add_peer(name);
    for (const std::string& file : options_.logs) add_log(file);
}

void Session::add_peer(const std::string& name) {
    try {
        std::unique_ptr<Contestant> peer;
        if (name == "nccl" || name.starts_with("nccl:")) {
            if (name == "nccl" && runtime_is_virtual()) {
                throw Unsupported(
                    "NCCL itself needs GPUs; --against nccl:FILE.so takes a library with its "
                    "interface, --against-log FILE its numbers from a machine that has GPUs");
            }
            peer = make_nccl("nccl", name == "nccl" ? "libnccl.so.2" : name.substr(5), *buffers_);
        } else {
            PeerCommand command = peer_command(name, options_.ranks());
            command.kill_at_request = kill_turn(options_.kill_peer, name);
            auto process = std::make_unique<PeerProcess>(command, options_.ranks());
            report_.header.machine.emplace_back(name, process->version());
            peer = std::move(process);
        }
        report_.peers.push_back(peer->name());
        peers_.push_back(std::move(peer));
        peer_problems_.emplace_back();
    } catch (const InvalidArgument&) {
        throw;
    } catch (const std::exception& error) {
        note_once(fmt::format("not compared with {}: {}", name, error.what()));
    }
}

void Session::add_log(const std::string& file) {
    NcclLog log = read_nccl_log(file);
    const std::string name = "log:" + std::filesystem::path(file).stem().string();
    std::string note = fmt::format("{}: saved by nccl-tests", name);
    if (!log.devices.empty()) note += " on " + log.devices;
    note += ", another machine and another day";
    if (runtime_is_virtual())
        note += "; it is set against the simulated time, not the measured one";
    note_once(note);
    const std::string asked(to_string(options_.operation));
    if (!log.collective.empty() && log.collective != asked) {
        note_once(fmt::format("{}: it is of {}, not of {}", name, log.collective, asked));
    }
    if (log.ranks != 0 && log.ranks != options_.ranks()) {
        note_once(
            fmt::format("{}: it is of {} ranks, not of {}", name, log.ranks, options_.ranks()));
    }
    report_.peers.push_back(name);
    logs_.push_back({name, std::move(log)});
}

std::vector<std::uint64_t> Session::message_sizes() const {
    if (options_.operation != Operation::batch_reduce || options_.tensors.empty()) {
        return sizes_of(options_.sizes);
    }
    std::uint64_t count = 0;
    for (const std::uint64_t tensor : case_of(ElementType::f32, ReduceOp::sum, 0, 0).tensors) {
        count += tensor;
    }
    std::size_t element = 1;
    for (const ElementType type : options_.types) element = std::max(element, size_of(type));
    return {count * element};
}

std::vector<int> Session::roots() const {
    if (!has_root(options_.operation)) return {-1};
    if (options_.root >= 0) return {options_.root};
    return first_devices(options_.ranks());
}

Case Session::case_of(ElementType type, ReduceOp op, int root, std::uint64_t bytes) const {
    Case test{.operation = options_.operation,
              .type = type,
              .op = has_operator(options_.operation) ? op : ReduceOp::sum,
              .root = std::max(root, 0),
              .ranks = options_.ranks(),
              .shape = shape_of(options_.operation, type, options_.ranks(), bytes)};
    if (options_.operation != Operation::batch_reduce) return test;
    if (options_.tensors.empty()) {
        test.tensors = cut_into_tensors(test.shape.count);
        return test;
    }
    test.shape.count = 0;
    for (const std::string& text : options_.tensors) {
        if (std::isdigit(static_cast<unsigned char>(text[0])) != 0) {
            test.tensors.push_back(parse_bytes(text));
        } else {
            const auto model = tensors_of_model(text);
            test.tensors.insert(test.tensors.end(), model.begin(), model.end());
        }
    }
    for (const std::uint64_t tensor : test.tensors) test.shape.count += tensor;
    test.shape.bytes = test.shape.count * size_of(type);
    return test;
}

void Session::run_cycle(const Listener& listener) {
    listener.started(report_);
    for (const ElementType type : options_.types) {
        for (const ReduceOp op : options_.ops) {
            for (const int root : roots()) {
                for (const std::uint64_t bytes : message_sizes()) {
                    measure_rows(case_of(type, op, root, bytes), listener);
                }
            }
        }
    }
}

void Session::measure_rows(const Case& test, const Listener& listener) {
    std::vector<Row> rows;
    for (StrategyEntry& entry : strategies_) {
        Row row{.size = test.shape.bytes,
                .count = test.shape.count,
                .type = std::string(nccl_name(test.type)),
                .op = has_operator(test.operation) ? std::string(nccl_name(test.op)) : "none",
                .root = has_root(test.operation) ? test.root : -1,
                .asked = to_string(entry.strategy)};
        explain(row, entry, test);
        rows.push_back(std::move(row));
    }
    Case half = test;
    const std::vector<Half> out_of_place = measure_half(half, listener, rows);
    half.in_place = true;
    const std::vector<Half> in_place =
        has_in_place(test.operation) ? measure_half(half, listener, rows) : std::vector<Half>();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (out_of_place[i].us.median > 0) rows[i].out_of_place = out_of_place[i];
        if (!in_place.empty() && in_place[i].us.median > 0) rows[i].in_place = in_place[i];
        if (!rows[i].out_of_place && !rows[i].in_place) continue;
        rows[i].timestamp = time_text();
        report_.rows.push_back(rows[i]);
        listener.row(report_, report_.rows.back());
    }
}

std::vector<Half> Session::measure_half(const Case& test, const Listener& listener,
                                        std::vector<Row>& rows) {
    const std::string where =
        fmt::format("{}, {}", bytes_text(static_cast<double>(test.shape.bytes)),
                    test.in_place ? "in place" : "out of place");
    std::vector<Half> halves(strategies_.size());
    std::vector<Turns> turns;
    for (std::size_t i = 0; i < strategies_.size(); ++i) {
        turns.push_back({.contestant = strategies_[i].contestant.get()});
        try {
            listener.progress(where + ": checking");
            if (options_.check > 0) {
                halves[i].wrong = check_result(*strategies_[i].contestant, test);
            }
        } catch (const std::exception& error) {
            turns.back().problem = error.what();
        }
    }
    for (const auto& limit : limits_) turns.push_back({.contestant = limit.get()});
    for (std::size_t i = 0; i < peers_.size(); ++i) {
        turns.push_back(
            {.contestant = peers_[i].get(), .pace = Pace::limited, .problem = peer_problems_[i]});
    }
    take_turns(turns, test,
               {.rounds = options_.rounds,
                .iterations = options_.iterations,
                .warm_up = options_.warm_up,
                .turn_seconds = 1e-3 * options_.round_milliseconds},
               [&](const std::string& text) { listener.progress(where + ": " + text); });

    const std::size_t first_peer = strategies_.size() + limits_.size();
    for (std::size_t i = 0; i < strategies_.size(); ++i) {
        Half& half = halves[i];
        half.us = spread_of(turns[i].us);
        if (!turns[i].problem.empty()) {
            const std::string text =
                fmt::format("{} with {}: {}", where, rows[i].asked, turns[i].problem);
            if (std::ranges::find(report_.errors, text) == report_.errors.end()) {
                report_.errors.push_back(text);
            }
            continue;
        }
        rows[i].iterations = static_cast<std::int64_t>(turns[i].iterations) * options_.rounds;
        half.alg_bw =
            half.us.median > 0 ? 1e-3 * static_cast<double>(test.shape.bytes) / half.us.median : 0;
        half.bus_bw = half.alg_bw * bus_factor(test.operation, test.ranks);
        if (options_.per_iteration) {
            std::vector<double> times =
                strategies_[i].contestant->run_with_events(options_.iterations);
            for (double& time : times) time *= 1e6;
            half.iterations = statistics_of(times, options_.per_iteration_skip);
        }
        if (!limits_.empty()) {
            half.loop_us = spread_of(turns[strategies_.size()].us);
            half.hand_written_us = spread_of(turns[strategies_.size() + 1].us);
        }
        for (std::size_t peer = first_peer; peer < turns.size(); ++peer) {
            half.peers.push_back({.name = turns[peer].contestant->name(),
                                  .us = spread_of(turns[peer].us),
                                  .iterations = turns[peer].iterations * options_.rounds,
                                  .problem = turns[peer].problem});
        }
        add_log_times(half, test, test.in_place);
    }
    for (std::size_t i = 0; i < peers_.size(); ++i) {
        const std::string& problem = turns[first_peer + i].problem;
        if (problem.empty()) continue;
        note_once(fmt::format("{}, from {} on: {}", peers_[i]->name(), where, problem));
        if (turns[first_peer + i].lost) peer_problems_[i] = problem;
    }
    return halves;
}

std::int64_t Session::check_result(RondoContestant& contestant, const Case& test) {
    std::int64_t wrong = 0;
    for (int i = 0; i < options_.check && wrong == 0; ++i) {
        contestant.begin(test);
        fill(*buffers_, test);
        contestant.call_once();
        if (options_.inject_wrong > 0) spoil(*buffers_, test, options_.inject_wrong);
        wrong += count_wrong(*buffers_, test);
    }
    return wrong;
}

void Session::add_log_times(Half& half, const Case& test, bool in_place) const {
    for (const SavedLog& saved : logs_) {
        for (const LogRow& row : saved.log.rows) {
            const std::optional<LogHalf>& found = in_place ? row.in_place : row.out_of_place;
            const bool same = row.size == test.shape.bytes && row.type == nccl_name(test.type) &&
                              (row.op == nccl_name(test.op) || row.op == "none");
            if (!same || !found) continue;
            half.peers.push_back(
                {.name = saved.name, .us = {found->us, found->us, found->us}, .from_log = true});
            break;
        }
    }
}

void Session::explain(Row& row, StrategyEntry& entry, const Case& test) {
    const ExplainedCase explained =
        explain_case(entry.contestant->communicator(), test, entry.strategy);
    row.strategy = explained.strategy;
    row.simulated_us = explained.us;
    row.reason = explained.reason;
}

void Session::note_once(const std::string& note) {
    if (std::ranges::find(report_.notes, note) == report_.notes.end())
        report_.notes.push_back(note);
}

void Session::measure_first_calls() {
    constexpr int repeat = 3;
    for (const StrategyEntry& entry : strategies_) {
        const std::uint64_t bytes =
            std::min<std::uint64_t>(1u << 20, std::ranges::max(message_sizes()));
        const Case test = case_of(options_.types[0], options_.ops[0], options_.root, bytes);
        std::vector<double> create, first, second;
        for (int i = 0; i < repeat; ++i) {
            auto begin = std::chrono::steady_clock::now();
            const auto lap = [&begin](std::vector<double>& times) {
                const auto now = std::chrono::steady_clock::now();
                times.push_back(std::chrono::duration<double, std::milli>(now - begin).count());
                begin = now;
            };
            RondoContestant contestant(
                {.devices = first_devices(options_.ranks()), .strategy = entry.strategy}, *buffers_,
                {});
            lap(create);
            try {
                contestant.begin(test);
                contestant.call_once();
                lap(first);
                contestant.call_once();
                lap(second);
            } catch (const std::exception& error) {
                note_once(fmt::format("no first call with {}: {}", to_string(entry.strategy),
                                      error.what()));
                break;
            }
        }
        if (second.empty()) continue;
        report_.first_calls.push_back({to_string(entry.strategy), options_.ranks(),
                                       test.shape.bytes, spread_of(create).median,
                                       spread_of(first).median, spread_of(second).median});
    }
}

void Session::predict_choices() {
    const std::vector<std::uint64_t> sizes = message_sizes();
    if (strategies_.empty()) return;
    Communicator& communicator = strategies_[0].contestant->communicator();
    for (const std::uint64_t bytes : sizes) {
        const Case test = case_of(options_.types[0], options_.ops[0], options_.root, bytes);
        if (test.shape.count == 0) continue;
        const auto predictions = predict_strategies(communicator, test);
        report_.predictions.insert(report_.predictions.end(), predictions.begin(),
                                   predictions.end());
    }
}

void Session::run_growth(const Listener& listener) {
    measure_growth(options_, report_, listener.point);
    double host = 0, device = 0;
    for (const GrowthPoint& point : report_.growth) {
        host = std::max(host, point.host_bytes);
        device = std::max(device, point.device_bytes);
    }
    note_once(fmt::format("a communicator took at most {} on the host and {} on each device",
                          bytes_text(host), bytes_text(device)));
}

const Report& Session::finish() {
    report_.header.end_time = time_text();
    report_.verdict = verdict_of(report_);
    return report_;
}

}  // namespace rondo::bench
