// Where the peers' programs are and how they are started.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "bench/tool/peer_process.hpp"
#include "rondo/error.hpp"

namespace rondo::bench {
namespace {

struct KnownPeer {
    const char* name;
    const char* program;   ///< ours
    const char* launcher;  ///< empty: none
    const char* packages;
};
constexpr std::array<KnownPeer, 3> known_peers{{
    {"openmpi", "rondo-bench-openmpi", "mpirun.openmpi", "openmpi-bin libopenmpi-dev"},
    {"mpich", "rondo-bench-mpich", "mpirun.mpich", "mpich libmpich-dev"},
    {"gloo", "rondo-bench-gloo", "", "libgloo-dev"},
}};

/// Beside this program: in the folder bin of an installation or in the build tree.
std::filesystem::path own_folder() {
    std::error_code error;
    return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

bool in_path(const std::string& program) {
    const char* const path = std::getenv("PATH");
    std::string_view rest = path == nullptr ? "" : path;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(':'), rest.size());
        const auto file = std::filesystem::path(rest.substr(0, end)) / program;
        if (access(file.c_str(), X_OK) == 0) return true;
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return false;
}

const KnownPeer& find_known(const std::string& name) {
    for (const KnownPeer& peer : known_peers) {
        if (peer.name == name) return peer;
    }
    throw InvalidArgument(fmt::format(
        "unknown peer '{}'; it must be nccl, nccl:FILE.so, openmpi, mpich or gloo", name));
}

}  // namespace

PeerCommand peer_command(const std::string& name, int ranks) {
    const KnownPeer& peer = find_known(name);
    const std::filesystem::path program = own_folder() / peer.program;
    if (access(program.c_str(), X_OK) != 0) {
        throw Unsupported(
            fmt::format("{} is not built; install {} (apt install {}), then configure and build "
                        "again",
                        peer.program, name, peer.packages));
    }
    PeerCommand command{.name = name};
    if (peer.launcher[0] != '\0') {
        if (!in_path(peer.launcher)) {
            throw Unsupported(
                fmt::format("there is no {}; apt install {}", peer.launcher, peer.packages));
        }
        command.arguments = {peer.launcher, "-np", std::to_string(ranks)};
        if (name == "openmpi") {
            command.arguments.insert(
                command.arguments.end(),
                {"--allow-run-as-root", "--oversubscribe", "--bind-to", "none"});
        }
    }
    command.arguments.insert(command.arguments.end(), {program.string(), "{page}"});
    if (name == "gloo") command.arguments.emplace_back("{folder}");
    return command;
}

}  // namespace rondo::bench
