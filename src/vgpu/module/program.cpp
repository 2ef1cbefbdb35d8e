// The table of registered fatbins, functions and variables.
#include "vgpu/module/program.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "vgpu/module/fatbin.hpp"

namespace vgpu {

namespace {

/// What nvcc puts into .nvFatBinSegment. Version 2 is of relocatable device code: `further` is an
/// array of fatbins that ends with null, one for each object that was linked.
struct FatbinWrapper {
    std::uint32_t magic;
    std::uint32_t version;
    const void* data;
    const void* const* further;
};

}  // namespace

std::vector<std::span<const std::byte>> fatbins_of_wrapper(const void* address) {
    FatbinWrapper wrapper{};
    if (address != nullptr) std::memcpy(&wrapper, address, sizeof(wrapper));
    if (wrapper.magic != fatbin_wrapper_magic) throw FatbinError("it is not what nvcc registers");
    if (wrapper.version != 1 && wrapper.version != 2)
        throw FatbinError(fmt::format("its wrapper has the unknown version {}", wrapper.version));
    std::vector<std::span<const std::byte>> fatbins;
    if (wrapper.version == 2) {
        for (const void* const* at = wrapper.further; at != nullptr && *at != nullptr; ++at)
            fatbins.push_back(fatbin_at(*at));
    }
    if (fatbins.empty()) fatbins.push_back(fatbin_at(wrapper.data));
    return fatbins;
}

Program& Program::of_this_process() {
    static Program* const program = new Program;
    return *program;
}

ProgramBinary* Program::add_binary(const void* wrapper) {
    auto binary = std::make_unique<ProgramBinary>();
    try {
        binary->fatbins = fatbins_of_wrapper(wrapper);
    } catch (const FatbinError& error) {
        binary->problem = error.what();
        std::fprintf(stderr, "vgpu: a fatbin can't be read: %s\n", error.what());
    }
    ProgramBinary* const handle = binary.get();
    const std::scoped_lock lock(mutex_);
    binaries_.emplace(handle, std::move(binary));
    return handle;
}

void Program::remove_binary(const ProgramBinary* binary) {
    const std::scoped_lock lock(mutex_);
    const auto gone = [binary](const auto& each) { return each.second.binary == binary; };
    std::erase_if(functions_, gone);
    std::erase_if(variables_, gone);
    binaries_.erase(binary);
}

void Program::add_function(const void* entry, ProgramFunction function) {
    const std::scoped_lock lock(mutex_);
    functions_.insert_or_assign(entry, std::move(function));
}

void Program::add_variable(const void* host, ProgramVariable variable) {
    const std::scoped_lock lock(mutex_);
    variables_.insert_or_assign(host, std::move(variable));
}

bool Program::find_function(const void* entry, ProgramFunction& found) const {
    const std::scoped_lock lock(mutex_);
    const auto at = functions_.find(entry);
    if (at != functions_.end()) found = at->second;
    return at != functions_.end();
}

bool Program::find_variable(const void* host, ProgramVariable& found) const {
    const std::scoped_lock lock(mutex_);
    const auto at = variables_.find(host);
    if (at != variables_.end()) found = at->second;
    return at != variables_.end();
}

std::vector<ProgramVariable> Program::managed_variables(const ProgramBinary* binary) const {
    const std::scoped_lock lock(mutex_);
    std::vector<ProgramVariable> found;
    for (const auto& [host, variable] : variables_)
        if (variable.binary == binary && variable.managed != nullptr) found.push_back(variable);
    return found;
}

}  // namespace vgpu
