// VGPU_* for the machine; LD_PRELOAD and LD_LIBRARY_PATH, so that also programs with a library path
// of their own, and those that load libraries later, get vgpu's.
#include "vgpu/run/environment.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "vgpu/control.hpp"

namespace vgpu::run {

namespace fs = std::filesystem;

namespace {

/// Of GPUs that are only counted.
constexpr const char* usual_architecture = "sm_90";

bool names_no_model(std::string topology) {
    if (const char* const set_before = std::getenv("VGPU_TOPOLOGY");
        topology.empty() && set_before != nullptr)
        topology = set_before;
    return topology.find_first_not_of("0123456789") == std::string::npos;
}

void set(const char* name, const std::string& value) {
    if (!value.empty()) setenv(name, value.c_str(), 1);
}

void put_before(const char* name, const std::string& value) {
    const char* const before = std::getenv(name);
    set(name, before == nullptr || *before == '\0' ? value : value + ":" + before);
}

/// The front-ends first, then all libraries with host bodies.
std::vector<std::string> preloads(const RunOptions& options, const fs::path& libraries) {
    std::vector<std::string> files, bodies;
    for (const auto& each : fs::directory_iterator(libraries)) {
        const std::string name = each.path().filename();
        if (name.ends_with("_bodies.so")) bodies.push_back(each.path());
        if (name.starts_with("libcu") || name.starts_with("libnvidia-ml"))
            files.push_back(each.path());
    }
    std::sort(files.begin(), files.end());
    std::sort(bodies.begin(), bodies.end());
    files.insert(files.end(), bodies.begin(), bodies.end());
    for (const std::string& each : options.bodies) {
        if (!fs::exists(each))
            throw std::runtime_error(fmt::format("--bodies: there is no file {}", each));
        files.push_back(fs::absolute(each));
    }
    return files;
}

}  // namespace

fs::path library_folder() {
    const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
    for (const fs::path& each : {here, (here / VGPU_LIBRARY_FOLDER).lexically_normal()})
        if (fs::exists(each / "libvgpu.so.0")) return each;
    throw std::runtime_error(fmt::format("libvgpu.so.0 is neither in {} nor in {}", here.string(),
                                         (here / VGPU_LIBRARY_FOLDER).lexically_normal().string()));
}

void set_environment(const RunOptions& options, const fs::path& libraries) {
    set("VGPU_TOPOLOGY", options.topology);
    set("VGPU_ENGINE", options.engine);
    set("VGPU_SEED", options.seed);
    set("VGPU_ARCHITECTURE", options.architecture);
    if (names_no_model(options.topology)) setenv("VGPU_ARCHITECTURE", usual_architecture, 0);
    if (options.check) set("VGPU_CHECK", "1");
    if (std::getenv("VGPU_REPORTS") == nullptr) set("VGPU_REPORTS", "1");
    reset(Options::from_environment());  // throws where the program would have no machine
    put_before("LD_PRELOAD", fmt::format("{}", fmt::join(preloads(options, libraries), ":")));
    put_before("LD_LIBRARY_PATH", libraries);
}

}  // namespace vgpu::run
