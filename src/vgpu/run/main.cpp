// vgpu-run: starts a CUDA program on virtual GPUs.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "vgpu/run/elf_file.hpp"
#include "vgpu/run/environment.hpp"

namespace {

using namespace vgpu::run;
namespace fs = std::filesystem;

constexpr int exit_failed = 1;
constexpr int exit_usage = 2;
constexpr int exit_not_executable = 126;

constexpr const char* what_it_does =
    "Runs a CUDA program on virtual GPUs: no GPU and no driver are needed. For developing and "
    "testing programs that are meant for NVIDIA GPUs.\n\n"
    "The program must be linked with the shared runtime (nvcc -cudart shared; in CMake set "
    "CMAKE_CUDA_RUNTIME_LIBRARY to Shared), or use the driver API. Its kernels run from their PTX, "
    "or as host bodies where a library has them. PTX is there when nvcc was told -arch=compute_NN "
    "or -arch=sm_NN.";

constexpr const char* examples =
    "Examples:\n"
    "  vgpu-run ./vector_add                           on eight GPUs, the default\n"
    "  vgpu-run --topology dgx1_v100 ./all_reduce 64M  on the machine of that name\n"
    "  vgpu-run --topology 2 --check ./program         with every access checked\n"
    "  vgpu-run --seed 7 ./program                     in a random order of blocks; 7 repeats it\n"
    "  vgpu-run --architecture sm_120 ./program        on GPUs that are newer\n\n"
    "It can't tell how fast a program is on a GPU, nor what machine code (SASS) or NVIDIA's driver "
    "do.\n"
    "Exit codes: the program's own; 2 wrong usage, 126 the program can't run here, 127 it does not "
    "exist.";

void add_options(CLI::App& app, RunOptions& options) {
    app.add_option("--topology", options.topology,
                   "The machine: a number of GPUs (default 8), a preset (`rondo-topo list` shows "
                   "them) or a JSON file")
        ->type_name("T");
    app.add_option("--engine", options.engine,
                   "What runs kernels: their PTX, native host bodies, or auto: host bodies where "
                   "there are some (default)")
        ->check(CLI::IsMember({"auto", "native", "ptx"}))
        ->type_name("auto|native|ptx");
    app.add_option("--seed", options.seed, "Run blocks in a random order drawn from this number")
        ->check(CLI::NonNegativeNumber)
        ->type_name("N");
    app.add_flag("--check", options.check,
                 "Check every access of kernels: bounds, freed memory, peers, alignment");
    app.add_option(
           "--architecture", options.architecture,
           "Compute capability of the GPUs (default: what the topology says; sm_90 where it only "
           "counts them)")
        ->type_name("sm_NN");
    app.add_option("--bodies", options.bodies, "A library with host bodies; may be repeated")
        ->type_name("FILE");
}

/// As the shell finds it; empty when there is none.
std::string find_program(const std::string& name) {
    if (name.find('/') != std::string::npos) return fs::exists(name) ? name : std::string();
    const char* const path = std::getenv("PATH");
    std::string folders = path == nullptr ? "" : path;
    for (std::size_t begin = 0; begin <= folders.size();) {
        const std::size_t end = std::min(folders.find(':', begin), folders.size());
        const fs::path candidate = fs::path(folders.substr(begin, end - begin)) / name;
        if (access(candidate.c_str(), X_OK) == 0 && fs::is_regular_file(candidate))
            return candidate;
        begin = end + 1;
    }
    return {};
}

/// What keeps the program from running here, with what to do about it; empty if nothing does.
std::string obstacle(const std::string& program) {
    const CudaUse use = inspect(program);
    if (use.has_own_runtime) {
        return fmt::format(
            "{} has NVIDIA's CUDA runtime inside, which works with NVIDIA's driver only.\n"
            "Link it again with the shared runtime, and it runs here:\n"
            "  nvcc -cudart shared ...\n"
            "  CMake: -D CMAKE_CUDA_RUNTIME_LIBRARY=Shared, and CUDA::cudart instead of "
            "CUDA::cudart_static",
            program);
    }
    for (const std::string& each : use.needed) {
        if (each.starts_with("libcudart.so.") && each != VGPU_CUDART_NAME) {
            return fmt::format("{} needs {}, and vgpu-run was built with the headers of {}.",
                               program, each, VGPU_CUDART_NAME);
        }
    }
    return {};
}

/// Libraries with a runtime of their own only lose their kernels.
void warn_of_libraries(const std::string& program) {
    if (inspect(program).needed.empty()) return;
    for (const std::string& each : loaded_libraries(program)) {
        if (!inspect(each).has_own_runtime) continue;
        fmt::print(stderr,
                   "vgpu-run: {} has NVIDIA's CUDA runtime inside: its CUDA calls will fail. Link "
                   "it with -cudart shared.\n",
                   each);
    }
}

int start(const RunOptions& options, std::vector<std::string> command) {
    const std::string program = find_program(command.front());
    if (program.empty()) {
        fmt::print(stderr, "vgpu-run: there is no program {}\n", command.front());
        return 127;
    }
    if (const std::string reason = obstacle(program); !reason.empty()) {
        fmt::print(stderr, "vgpu-run: {}\n", reason);
        return exit_not_executable;
    }
    warn_of_libraries(program);
    set_environment(options, library_folder());
    std::vector<char*> arguments;
    for (std::string& each : command) arguments.push_back(each.data());
    arguments.push_back(nullptr);
    execv(program.c_str(), arguments.data());
    fmt::print(stderr, "vgpu-run: {}: {}\n", program, std::strerror(errno));
    return exit_not_executable;
}

}  // namespace

int main(int argc, char** argv) try {
    CLI::App app(what_it_does, "vgpu-run");
    app.footer(examples);
    app.set_version_flag("--version", VGPU_VERSION);
    app.prefix_command();  // what follows the program is the program's
    RunOptions options;
    add_options(app, options);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : exit_usage;
    }
    std::vector<std::string> command = app.remaining();
    if (!command.empty() && command.front() == "--") command.erase(command.begin());
    if (command.empty() || command.front().starts_with("-")) {
        fmt::print(stderr, "vgpu-run: {}; vgpu-run --help explains\n",
                   command.empty() ? "a program is missing" : "unknown option " + command.front());
        return exit_usage;
    }
    return start(options, std::move(command));
} catch (const std::exception& error) {
    fmt::print(stderr, "vgpu-run: {}\n", error.what());
    return exit_failed;
}
