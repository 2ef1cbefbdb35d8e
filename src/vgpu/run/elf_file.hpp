// What vgpu-run wants to know of a program before it starts it: which CUDA runtime is inside.
#pragma once

#include <string>
#include <vector>

namespace vgpu::run {

/// How a file gets its CUDA runtime.
struct CudaUse {
    bool is_elf = false;
    bool has_device_code = false;     ///< it has what nvcc puts in: .nvFatBinSegment
    bool has_own_runtime = false;     ///< and it registers it with a runtime of its own
    std::vector<std::string> needed;  ///< libraries that it names
};

/// Reads the file's section headers. A file that is no 64-bit ELF, or a broken one, has is_elf ==
/// false. Throws std::system_error when it can't be read.
CudaUse inspect(const std::string& path);

/// The files of all libraries that the program would be started with, as the system's loader finds
/// them; empty when it can't say. Only for programs that need libraries: others would be started.
std::vector<std::string> loaded_libraries(const std::string& program);

}  // namespace vgpu::run
