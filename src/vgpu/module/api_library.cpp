// Libraries of the runtime API, and kernels as handles.
#include <fmt/format.h>

#include <algorithm>

#include "vgpu/api.hpp"
#include "vgpu/launch.hpp"
#include "vgpu/module/library.hpp"
#include "vgpu/module/native.hpp"

#if CUDART_VERSION >= 13000  // older runtimes have no libraries

using namespace vgpu;

namespace {

cudaKernel_t handle_of(const void* kernel) {
    return reinterpret_cast<cudaKernel_t>(const_cast<void*>(kernel));
}

cudaError_t get_variable(const char* function, void** address, size_t* bytes, cudaLibrary_t library,
                         const char* name) {
    return api(function, [&](Machine& machine) {
        require(name != nullptr, "name is null");
        const auto found =
            Library::at(library).module().variable(machine, this_thread().device, name);
        if (found.address == nullptr)
            throw ApiError{cudaErrorSymbolNotFound, fmt::format("there is no variable {}", name)};
        if (address != nullptr) *address = found.address;
        if (bytes != nullptr) *bytes = found.bytes;
        return cudaSuccess;
    });
}

}  // namespace

#pragma GCC visibility push(default)  // what programs link to
extern "C" {

cudaError_t CUDARTAPI cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption*,
                                          void**, unsigned int, cudaLibraryOption*, void**,
                                          unsigned int) {
    return api("cudaLibraryLoadData", [&](Machine&) {
        require(library != nullptr, "library is null");
        *library = reinterpret_cast<cudaLibrary_t>(Library::load(code));
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* path,
                                              cudaJitOption*, void**, unsigned int,
                                              cudaLibraryOption*, void**, unsigned int) {
    return api("cudaLibraryLoadFromFile", [&](Machine&) {
        require(library != nullptr && path != nullptr, "library or fileName is null");
        *library = reinterpret_cast<cudaLibrary_t>(Library::load_file(path));
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaLibraryUnload(cudaLibrary_t library) {
    return api("cudaLibraryUnload", [&](Machine&) {
        Library::unload(library);
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library,
                                           const char* name) {
    return api("cudaLibraryGetKernel", [&](Machine&) {
        require(kernel != nullptr && name != nullptr, "pKernel or name is null");
        *kernel = handle_of(Library::at(library).kernel(name));
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaLibraryGetGlobal(void** address, size_t* bytes, cudaLibrary_t library,
                                           const char* name) {
    return get_variable("cudaLibraryGetGlobal", address, bytes, library, name);
}

cudaError_t CUDARTAPI cudaLibraryGetManaged(void** address, size_t* bytes, cudaLibrary_t library,
                                            const char* name) {
    return get_variable("cudaLibraryGetManaged", address, bytes, library, name);
}

cudaError_t CUDARTAPI cudaLibraryGetKernelCount(unsigned int* count, cudaLibrary_t library) {
    return api("cudaLibraryGetKernelCount", [&](Machine&) {
        require(count != nullptr, "count is null");
        *count = static_cast<unsigned>(Library::at(library).kernels().size());
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned int count,
                                                  cudaLibrary_t handle) {
    return api("cudaLibraryEnumerateKernels", [&](Machine&) {
        require(kernels != nullptr, "kernels is null");
        Library& library = Library::at(handle);
        const std::vector<std::string> names = library.kernels();
        for (std::size_t i = 0; i < std::min<std::size_t>(count, names.size()); ++i)
            kernels[i] = handle_of(library.kernel(names[i]));
        return cudaSuccess;
    });
}

/// A kernel's handle is its entry.
cudaError_t CUDARTAPI cudaGetKernel(cudaKernel_t* kernel, const void* entry) {
    return api("cudaGetKernel", [&](Machine&) {
        require(kernel != nullptr, "kernelPtr is null");
        kernel_at(entry);
        *kernel = handle_of(entry);
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaGetFuncBySymbol(cudaFunction_t* function, const void* entry) {
    return api("cudaGetFuncBySymbol", [&](Machine&) {
        require(function != nullptr, "functionPtr is null");
        kernel_at(entry);
        *function = reinterpret_cast<cudaFunction_t>(const_cast<void*>(entry));
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaKernelSetAttributeForDevice(cudaKernel_t kernel,
                                                      cudaFuncAttribute attribute, int value, int) {
    return cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value);
}

cudaError_t CUDARTAPI cudaFuncGetParamInfo(const void* entry, size_t index, size_t* offset,
                                           size_t* bytes) {
    return api("cudaFuncGetParamInfo", [&](Machine&) {
        require(offset != nullptr, "paramOffset is null");
        const KernelDescription& kernel = kernel_at(entry).description;
        require(index < kernel.argument_count, "the kernel has fewer parameters");
        require(index == 0 || kernel.argument_offsets != nullptr,
                "the offsets of a host body's arguments are not known");
        *offset = index == 0 ? 0 : kernel.argument_offsets[index];
        if (bytes != nullptr) *bytes = kernel.argument_sizes[index];
        return cudaSuccess;
    });
}

}  // extern "C"
#pragma GCC visibility pop

#endif
