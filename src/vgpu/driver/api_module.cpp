// Modules, libraries, kernels and functions. A function, a kernel and the entry that is launched
// are one address; a module is a library.
#include <algorithm>

#include "vgpu/driver/driver.hpp"
#include "vgpu/launch.hpp"
#include "vgpu/module/library.hpp"

using namespace vgpu;
using namespace vgpu::driver;

namespace {

template <class Handle>
Handle handle_to(void* object) {
    return reinterpret_cast<Handle>(object);
}

/// Loads with `load()` and stores the handle.
template <class Handle, class Load>
CUresult load_into(Handle* handle, Load load) {
    return with_context([&] {
        require(handle != nullptr, "the handle to store to is null");
        *handle = handle_to<Handle>(load());
        return cudaSuccess;
    });
}

template <class Handle>
cudaError_t store_kernel(Handle* kernel, const void* library, const char* name) {
    require(kernel != nullptr && name != nullptr, "an argument is null");
    *kernel = handle_to<Handle>(Library::at(library).kernel(name));
    return cudaSuccess;
}

cudaError_t store_variable(CUdeviceptr* address, size_t* bytes, const void* library,
                           const char* name) {
    require(name != nullptr, "name is null");
    const auto found =
        Library::at(library).module().variable(machine(), this_thread().device, name);
    if (found.address == nullptr) throw ApiError{cudaErrorSymbolNotFound, name};
    if (address != nullptr) *address = reinterpret_cast<CUdeviceptr>(found.address);
    if (bytes != nullptr) *bytes = found.bytes;
    return cudaSuccess;
}

int attribute_of(const void* function, CUfunction_attribute attribute) {
    cudaFuncAttributes all{};
    if (const cudaError_t status = cudaFuncGetAttributes(&all, function); status != cudaSuccess)
        throw ApiError{status, "cudaFuncGetAttributes"};
    switch (attribute) {
        case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
            return all.maxThreadsPerBlock;
        case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
            return static_cast<int>(all.sharedSizeBytes);
        case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
            return static_cast<int>(all.constSizeBytes);
        case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
            return static_cast<int>(all.localSizeBytes);
        case CU_FUNC_ATTRIBUTE_NUM_REGS:
            return all.numRegs;
        case CU_FUNC_ATTRIBUTE_PTX_VERSION:
            return all.ptxVersion;
        case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
            return all.binaryVersion;
        case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
            return 0;
        case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
            return all.maxDynamicSharedSizeBytes;
        case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
            return all.preferredShmemCarveout;
        default:
            return 0;  // clusters: the kernel asks for none
    }
}

cudaError_t store_attribute(int* value, CUfunction_attribute attribute, const void* function) {
    require(value != nullptr, "pi is null");
    *value = attribute_of(function, attribute);
    return cudaSuccess;
}

cudaError_t set_attribute(const void* function, CUfunction_attribute attribute, int value) {
    return cudaFuncSetAttribute(function, static_cast<cudaFuncAttribute>(attribute), value);
}

cudaError_t store_name(const char** name, const void* function) {
    return cudaFuncGetName(name, function);
}

}  // namespace

#pragma GCC visibility push(default)  // what programs link to
extern "C" {

CUresult CUDAAPI cuModuleLoad(CUmodule* module, const char* path) {
    return load_into(module, [&] {
        require(path != nullptr, "fname is null");
        return Library::load_file(path);
    });
}

CUresult CUDAAPI cuModuleLoadData(CUmodule* module, const void* image) {
    return load_into(module, [&] { return Library::load(image); });
}

CUresult CUDAAPI cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int,
                                    CUjit_option*, void**) {
    return load_into(module, [&] { return Library::load(image); });
}

CUresult CUDAAPI cuModuleLoadFatBinary(CUmodule* module, const void* fatbin) {
    return load_into(module, [&] { return Library::load(fatbin); });
}

CUresult CUDAAPI cuModuleUnload(CUmodule module) {
    return with_context([&] {
        Library::unload(module);
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
    return with_init([&] {
        require(mode != nullptr, "mode is null");
        *mode = CU_MODULE_LAZY_LOADING;
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
    return with_context([&] { return store_kernel(function, module, name); });
}

CUresult CUDAAPI cuModuleGetFunctionCount(unsigned int* count, CUmodule module) {
    return with_context([&] {
        require(count != nullptr, "count is null");
        *count = static_cast<unsigned>(Library::at(module).kernels().size());
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuModuleGetGlobal(CUdeviceptr* address, size_t* bytes, CUmodule module,
                                   const char* name) {
    return with_context([&] { return store_variable(address, bytes, module, name); });
}

CUresult CUDAAPI cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**,
                                   unsigned int, CUlibraryOption*, void**, unsigned int) {
    return with_init([&] {
        require(library != nullptr, "library is null");
        *library = handle_to<CUlibrary>(Library::load(code));
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option*, void**,
                                       unsigned int, CUlibraryOption*, void**, unsigned int) {
    return with_init([&] {
        require(library != nullptr && path != nullptr, "library or fileName is null");
        *library = handle_to<CUlibrary>(Library::load_file(path));
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuLibraryUnload(CUlibrary library) {
    return with_init([&] {
        Library::unload(library);
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
    return with_init([&] { return store_kernel(kernel, library, name); });
}

CUresult CUDAAPI cuLibraryGetModule(CUmodule* module, CUlibrary library) {
    return with_context([&] {
        require(module != nullptr, "pMod is null");
        *module = handle_to<CUmodule>(&Library::at(library));
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library,
                                    const char* name) {
    return with_context([&] { return store_variable(address, bytes, library, name); });
}

CUresult CUDAAPI cuLibraryGetManaged(CUdeviceptr* address, size_t* bytes, CUlibrary library,
                                     const char* name) {
    return with_init([&] { return store_variable(address, bytes, library, name); });
}

CUresult CUDAAPI cuLibraryGetKernelCount(unsigned int* count, CUlibrary library) {
    return with_init([&] {
        require(count != nullptr, "count is null");
        *count = static_cast<unsigned>(Library::at(library).kernels().size());
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuLibraryEnumerateKernels(CUkernel* kernels, unsigned int count,
                                           CUlibrary handle) {
    return with_init([&] {
        require(kernels != nullptr, "kernels is null");
        Library& library = Library::at(handle);
        const std::vector<std::string> names = library.kernels();
        for (std::size_t i = 0; i < std::min<std::size_t>(count, names.size()); ++i)
            kernels[i] = handle_to<CUkernel>(library.kernel(names[i]));
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
    return with_context([&] {
        require(function != nullptr, "pFunc is null");
        kernel_at(kernel);
        *function = reinterpret_cast<CUfunction>(kernel);
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuKernelGetLibrary(CUlibrary* library, CUkernel kernel) {
    return with_init([&] {
        require(library != nullptr, "pLib is null");
        *library = handle_to<CUlibrary>(Library::kernel_at(kernel).library);
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel,
                                      CUdevice device) {
    return with_init([&] {
        const DeviceScope scope(device_at(machine(), device).index);
        return store_attribute(value, attribute, kernel);
    });
}

CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                                      CUdevice device) {
    return with_init([&] {
        const DeviceScope scope(device_at(machine(), device).index);
        return set_attribute(kernel, attribute, value);
    });
}

CUresult CUDAAPI cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache, CUdevice) {
    return with_init([&] { return cudaFuncSetCacheConfig(kernel, cudaFuncCachePreferNone); });
}

CUresult CUDAAPI cuKernelGetName(const char** name, CUkernel kernel) {
    return with_init([&] { return store_name(name, kernel); });
}

CUresult CUDAAPI cuFuncGetAttribute(int* value, CUfunction_attribute attribute,
                                    CUfunction function) {
    return with_context([&] { return store_attribute(value, attribute, function); });
}

CUresult CUDAAPI cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute,
                                    int value) {
    return with_context([&] { return set_attribute(function, attribute, value); });
}

CUresult CUDAAPI cuFuncSetCacheConfig(CUfunction function, CUfunc_cache) {
    return with_context([&] { return cudaFuncSetCacheConfig(function, cudaFuncCachePreferNone); });
}

CUresult CUDAAPI cuFuncGetName(const char** name, CUfunction function) {
    return with_context([&] { return store_name(name, function); });
}

CUresult CUDAAPI cuFuncGetModule(CUmodule* module, CUfunction function) {
    return with_context([&] {
        require(module != nullptr, "hmod is null");
        *module = handle_to<CUmodule>(Library::kernel_at(function).library);
        return cudaSuccess;
    });
}

#if CUDART_VERSION >= 13000
CUresult CUDAAPI cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset,
                                    size_t* bytes) {
    return with_context([&] { return cudaFuncGetParamInfo(function, index, offset, bytes); });
}

CUresult CUDAAPI cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset,
                                      size_t* bytes) {
    return with_init([&] { return cudaFuncGetParamInfo(kernel, index, offset, bytes); });
}
#endif

}  // extern "C"
#pragma GCC visibility pop
