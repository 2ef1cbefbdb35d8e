// Chooses what runs a registered kernel: a host body of the same name, or its PTX.
#include <fmt/format.h>

#include <cstdio>

#include "vgpu/api.hpp"
#include "vgpu/launch.hpp"
#include "vgpu/module/device_module.hpp"
#include "vgpu/module/native.hpp"
#include "vgpu/module/program.hpp"

namespace vgpu {

std::optional<KernelDescription> native_body(const std::string& name) {
    const Engine engine = machine().options().engine;
    const Kernel* const body = engine == Engine::ptx ? nullptr : find_kernel_by_name(name);
    if (body != nullptr) return body->description;
    if (engine != Engine::native) return std::nullopt;
    throw ApiError{
        cudaErrorNoKernelImageForDevice,
        fmt::format("no library has a host body for kernel {}, and the engine is native", name)};
}

int architecture_of_this_thread() {
    const cudaDeviceProp& device = device_at(machine(), this_thread().device).properties;
    return device.major * 10 + device.minor;
}

DeviceModule& module_of(ProgramBinary& binary) {
    if (!binary.problem.empty()) throw ApiError{cudaErrorInvalidKernelImage, binary.problem};
    std::call_once(binary.load, [&] {
        binary.module = DeviceModule::from_fatbins(binary.fatbins, architecture_of_this_thread());
    });
    return *binary.module;
}

std::span<std::byte> program_variable(const void* host) {
    ProgramVariable variable;
    if (!Program::of_this_process().find_variable(host, variable))
        throw ApiError{cudaErrorInvalidSymbol, "no variable was registered at this address"};
    const auto found =
        module_of(*variable.binary).variable(machine(), this_thread().device, variable.name);
    if (found.address == nullptr) {
        throw ApiError{cudaErrorInvalidSymbol,
                       fmt::format("the device code has no variable {}", variable.name)};
    }
    return {static_cast<std::byte*>(found.address), found.bytes};
}

void print_refusal(const std::string& name, const std::string& reason) {
    std::fprintf(stderr, "vgpu: kernel %s can't run: %s\n", name.c_str(), reason.c_str());
}

bool provide_program_kernel(const void* entry) {
    ProgramFunction function;
    if (!Program::of_this_process().find_function(entry, function)) return false;
    try {
        const auto body = native_body(function.name);
        register_kernel(entry, body ? *body : module_of(*function.binary).describe(function.name));
    } catch (const ApiError& error) {
        print_refusal(function.name, error.detail);
        throw;
    }
    return true;
}

}  // namespace vgpu
