// What the constructors of programs compiled by nvcc tell the runtime: their fatbins, and which
// address of the host stands for which kernel or variable in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace vgpu {

class DeviceModule;

/// One registered fatbin. Its address is the handle that nvcc's code keeps.
struct ProgramBinary {
    std::vector<std::span<const std::byte>> fatbins;
    std::string problem;  ///< why there are none
    std::once_flag load;  ///< of the rest
    std::shared_ptr<DeviceModule> module;
};

struct ProgramFunction {
    ProgramBinary* binary = nullptr;
    std::string name;  ///< mangled
};

struct ProgramVariable {
    ProgramBinary* binary = nullptr;
    std::string name;
    std::size_t bytes = 0;
    void** managed = nullptr;  ///< where the host looks for its address, if it is managed
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
    std::vector<ProgramVariable> managed_variables(const ProgramBinary* binary) const;

private:
    mutable std::mutex mutex_;
    std::map<const ProgramBinary*, std::unique_ptr<ProgramBinary>> binaries_;
    std::unordered_map<const void*, ProgramFunction> functions_;
    std::unordered_map<const void*, ProgramVariable> variables_;
};

/// What nvcc puts into .nvFatBinSegment begins with it.
inline constexpr std::uint32_t fatbin_wrapper_magic = 0x466243B1;
/// The fatbins of such a structure. Throws FatbinError.
std::vector<std::span<const std::byte>> fatbins_of_wrapper(const void* wrapper);

/// The binary's device code, loaded at first use. Throws ApiError.
DeviceModule& module_of(ProgramBinary& binary);
/// A variable's address on the calling thread's device and its size, by its host address. Throws
/// ApiError (cudaErrorInvalidSymbol).
std::span<std::byte> program_variable(const void* host);

/// The kernel source of the runtime (see launch.hpp): gives the entry of a registered function the
/// body that the chosen engine has for it.
bool provide_program_kernel(const void* entry);

}  // namespace vgpu
