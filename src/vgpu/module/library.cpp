// The table of loaded libraries and their kernels.
#include "vgpu/module/library.hpp"

#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <set>

#include "vgpu/api.hpp"
#include "vgpu/launch.hpp"
#include "vgpu/module/fatbin.hpp"
#include "vgpu/module/native.hpp"
#include "vgpu/module/program.hpp"

namespace vgpu {

namespace {

/// Never destroyed: exit handlers unload.
struct Libraries {
    std::mutex mutex;
    std::unordered_map<const void*, std::unique_ptr<Library>> libraries;
    std::unordered_map<const void*, std::unique_ptr<LibraryKernel>> kernels;
};

Libraries& all_libraries() {
    static Libraries* const libraries = new Libraries;
    return *libraries;
}

std::shared_ptr<DeviceModule> read_image(const void* image) {
    if (image == nullptr) throw ApiError{cudaErrorInvalidValue, "the image is null"};
    std::uint32_t magic = 0;
    std::memcpy(&magic, image, sizeof(magic));
    constexpr std::uint32_t fatbin = 0xBA55ED50, elf = 0x464C457F;
    try {
        if (magic == fatbin) {
            const std::span<const std::byte> whole = fatbin_at(image);
            return DeviceModule::from_fatbins({&whole, 1}, architecture_of_this_thread());
        }
        if (magic == fatbin_wrapper_magic)
            return DeviceModule::from_fatbins(fatbins_of_wrapper(image),
                                              architecture_of_this_thread());
    } catch (const FatbinError& error) {
        throw ApiError{cudaErrorInvalidKernelImage, error.what()};
    }
    if (magic == elf) {
        throw ApiError{cudaErrorNoKernelImageForDevice,
                       "the image is machine code (a cubin); vgpu executes PTX"};
    }
    return DeviceModule::from_text(static_cast<const char*>(image));
}

}  // namespace

Library* Library::load(const void* image) {
    std::unique_ptr<Library> library;
    try {
        library.reset(new Library(read_image(image)));
    } catch (const ApiError& error) {
        print_refusal("of a module", error.detail);
        throw;
    }
    Libraries& all = all_libraries();
    const std::scoped_lock lock(all.mutex);
    Library* const handle = library.get();
    all.libraries.emplace(handle, std::move(library));
    return handle;
}

Library* Library::load_file(const char* path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw ApiError{cudaErrorFileNotFound, fmt::format("there is no file {}", path)};
    std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    bytes.resize(bytes.size() + 16);  // ends with nulls, and has at least a header
    if (looks_like_fatbin(std::as_bytes(std::span(bytes)))) {
        try {
            read_fatbin(std::as_bytes(std::span(bytes)));  // not longer than the file
        } catch (const FatbinError& error) {
            throw ApiError{cudaErrorInvalidKernelImage, error.what()};
        }
    }
    return load(bytes.data());
}

Library& Library::at(const void* handle) {
    Libraries& all = all_libraries();
    const std::scoped_lock lock(all.mutex);
    const auto found = all.libraries.find(handle);
    if (found == all.libraries.end())
        throw ApiError{cudaErrorInvalidResourceHandle, "the library does not exist"};
    return *found->second;
}

LibraryKernel& Library::kernel_at(const void* handle) {
    Libraries& all = all_libraries();
    const std::scoped_lock lock(all.mutex);
    const auto found = all.kernels.find(handle);
    if (found == all.kernels.end())
        throw ApiError{cudaErrorInvalidResourceHandle, "the kernel does not exist"};
    return *found->second;
}

bool Library::is_kernel(const void* handle) {
    Libraries& all = all_libraries();
    const std::scoped_lock lock(all.mutex);
    return all.kernels.contains(handle);
}

void Library::unload(const void* handle) {
    at(handle);
    Libraries& all = all_libraries();
    const std::scoped_lock lock(all.mutex);
    all.libraries.erase(handle);
}

LibraryKernel* Library::kernel(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    if (const auto known = kernels_.find(name); known != kernels_.end()) return known->second;
    if (!module_->has_kernel(name))
        throw ApiError{cudaErrorSymbolNotFound, fmt::format("there is no kernel {}", name)};
    auto kernel = std::make_unique<LibraryKernel>(LibraryKernel{this, name});
    try {
        const auto body = native_body(name);
        register_kernel(kernel.get(), body ? *body : module_->describe(name));
    } catch (const ApiError& error) {
        print_refusal(name, error.detail);
        throw;
    }
    LibraryKernel* const handle = kernel.get();
    Libraries& all = all_libraries();
    const std::scoped_lock all_lock(all.mutex);
    all.kernels.emplace(handle, std::move(kernel));
    kernels_.emplace(name, handle);
    return handle;
}

}  // namespace vgpu
