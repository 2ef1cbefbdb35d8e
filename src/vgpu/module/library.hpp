// Device code that a program loads at run time: a library of the runtime API, a module or a library
// of the driver API. They are one thing here.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "vgpu/module/device_module.hpp"

namespace vgpu {

/// A kernel of a library. Its address is the handle, and the entry by which it is launched.
struct LibraryKernel {
    class Library* library = nullptr;
    std::string name;
};

class Library {
public:
    /// `image` is PTX text that ends with a null, a fatbin, or nvcc's wrapper of one. Throws
    /// ApiError.
    static Library* load(const void* image);
    static Library* load_file(const char* path);
    /// Throws ApiError (cudaErrorInvalidResourceHandle) when there is no such library.
    static Library& at(const void* handle);
    static LibraryKernel& kernel_at(const void* handle);
    static bool is_kernel(const void* handle);
    /// Its kernels stay in memory: launches may still run.
    static void unload(const void* handle);

    /// Throws ApiError: cudaErrorSymbolNotFound, or what is wrong with the kernel.
    LibraryKernel* kernel(const std::string& name);
    std::vector<std::string> kernels() const { return module_->kernels(); }
    DeviceModule& module() { return *module_; }

private:
    explicit Library(std::shared_ptr<DeviceModule> module) : module_(std::move(module)) {}

    std::shared_ptr<DeviceModule> module_;
    std::mutex mutex_;
    std::unordered_map<std::string, LibraryKernel*> kernels_;
};

}  // namespace vgpu
