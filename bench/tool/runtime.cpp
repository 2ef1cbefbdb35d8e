// Which CUDA runtime the program was linked with, and what machine it shows.
#include "bench/tool/runtime.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "rondo/error.hpp"
#include "topology/detect/detect.hpp"
#include "topology/tool/picture.hpp"

namespace rondo::bench {
namespace {

std::filesystem::path program_for_gpus() {
    std::error_code error;
    return std::filesystem::read_symlink("/proc/self/exe", error).parent_path() /
           "rondo-bench-cuda";
}

void check_named_topology(const std::string& named) {
    try {
        if (!named.empty()) load_topology(named);
    } catch (const Error& error) {
        throw InvalidArgument(fmt::format("VGPU_TOPOLOGY is '{}': {}", named, error.what()));
    }
}

}  // namespace

bool runtime_is_virtual() {
    return RONDO_BENCH_VIRTUAL;
}

void prepare_runtime(const std::string& topology, int ranks) {
    if (!runtime_is_virtual()) {
        if (!topology.empty()) {
            throw InvalidArgument("--topology is for virtual GPUs; real ones are detected");
        }
        return;
    }
    if (!topology.empty()) {
        load_topology(topology);  // throws, with the names that exist
        setenv("VGPU_TOPOLOGY", topology.c_str(), 1);
    } else if (const char* const named = std::getenv("VGPU_TOPOLOGY"); named != nullptr) {
        check_named_topology(named);
    } else {
        setenv("VGPU_TOPOLOGY", std::to_string(ranks).c_str(), 1);
    }
}

std::optional<Topology> describe_topology(Header& header, const std::string& topology) {
    try {
        const char* const named = std::getenv("VGPU_TOPOLOGY");
        Topology machine = runtime_is_virtual()
                               ? load_topology(topology.empty() && named ? named : topology)
                               : detect({.self_test = false}).topology;
        header.topology = machine.name();
        header.topology_svg = tool::picture(machine);
        return machine;
    } catch (const Error& error) {
        header.topology = fmt::format("unknown ({})", error.what());
        return {};
    }
}

void switch_to_gpus(const std::string& gpu, char** argv) {
    if (!runtime_is_virtual() || gpu == "virtual") return;
    const bool there = access("/dev/nvidiactl", F_OK) == 0;
    const std::filesystem::path program = program_for_gpus();
    const bool built = access(program.c_str(), X_OK) == 0;
    if (gpu == "auto" && !(there && built)) return;
    if (!built) {
        throw Unsupported(
            fmt::format("{} is not there: build with nvcc (scripts/setup, then the preset cuda)",
                        program.string()));
    }
    execv(program.c_str(), argv);
    throw Unsupported(
        fmt::format("{} can't be started: {}", program.string(), std::strerror(errno)));
}

}  // namespace rondo::bench
