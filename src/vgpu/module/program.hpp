// What the constructors of programs compiled by nvcc tell the runtime: their fatbins, and which
// address of the host stands for which kernel or variable in them.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace vgpu {

/// One registered fatbin. Its address is the handle that nvcc's code keeps.
struct ProgramBinary {
    std::vector<std::span<const std::byte>> fatbins;
    std::string problem;  ///< why there are none
};

struct ProgramFunction {
    const ProgramBinary* binary = nullptr;
    std::string name;  ///< mangled
};

struct ProgramVariable {
    const ProgramBinary* binary = nullptr;
    std::string name;
    std::size_t bytes = 0;
    bool constant = false;
};

/// Everything that is registered in this process. Thread safe. Never destroyed: exit handlers
/// unregister.
class Program {
public:
    static Program& of_this_process();

    /// `wrapper` is the structure that nvcc puts into .nvFatBinSegment.
    ProgramBinary* add_binary(const void* wrapper);
    void remove_binary(const ProgramBinary* binary);
    void add_function(const void* entry, ProgramFunction function);
    void add_variable(const void* host, ProgramVariable variable);

    /// Copies, or nothing found.
    bool find_function(const void* entry, ProgramFunction& found) const;
    bool find_variable(const void* host, ProgramVariable& found) const;

private:
    mutable std::mutex mutex_;
    std::map<const ProgramBinary*, std::unique_ptr<ProgramBinary>> binaries_;
    std::unordered_map<const void*, ProgramFunction> functions_;
    std::unordered_map<const void*, ProgramVariable> variables_;
};

/// The kernel source of the runtime (see launch.hpp): gives the entry of a registered function the
/// body that the chosen engine has for it.
bool provide_program_kernel(const void* entry);

}  // namespace vgpu
