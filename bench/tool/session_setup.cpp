// What stands at the beginning of a run: the machine, the buffers, and who takes part.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "bench/tool/cuda_check.hpp"
#include "bench/tool/limits.hpp"
#include "bench/tool/link_limit.hpp"
#include "bench/tool/machine.hpp"
#include "bench/tool/nccl_contestant.hpp"
#include "bench/tool/peer_process.hpp"
#include "bench/tool/runtime.hpp"
#include "bench/tool/session.hpp"
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

/// "openmpi:3" for that peer: 3.
int kill_turn(const std::string& text, const std::string& peer) {
    const auto colon = text.rfind(':');
    if (colon == std::string::npos || text.substr(0, colon) != peer) return 0;
    return std::atoi(text.c_str() + colon + 1);
}

}  // namespace

std::vector<int> first_devices(int count) {
    std::vector<int> devices;
    for (int device = 0; device < count; ++device) devices.push_back(device);
    return devices;
}

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
    topology_ = describe_topology(header, options_.topology);
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
    if (!options_.no_limit) add_limits();
    for (const std::string& name : options_.against) add_peer(name);
    for (const std::string& file : options_.logs) add_log(file);
}

void Session::add_limits() {
    if (runtime_is_virtual() && !options_.limit_by_links) {
        limits_.push_back({std::make_unique<ReadWriteLoop>(*buffers_), &Half::loop_us});
        limits_.push_back({std::make_unique<HandWritten>(*buffers_), &Half::hand_written_us});
    } else {
        report_.header.limit_of = "link";
        limits_.push_back({std::make_unique<LinkCopies>(*buffers_), &Half::link_us});
    }
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

}  // namespace rondo::bench
