// The environment in which a program finds vgpu instead of NVIDIA's libraries.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace vgpu::run {

/// What the command line says; empty means: as in the environment, or the default.
struct RunOptions {
    std::string topology, engine, seed, architecture;
    bool check = false;
    std::vector<std::string> bodies;  ///< further libraries with host bodies
};

/// The folder with libvgpu.so.0 and its front-ends: beside this program, or where it was installed.
/// Throws std::runtime_error when it is not there.
std::filesystem::path library_folder();

/// Sets the variables for this process, which then becomes the program. Throws std::exception, and
/// names the value, when an option can't be meant.
void set_environment(const RunOptions& options, const std::filesystem::path& libraries);

}  // namespace vgpu::run
