// Functions by name: cuGetProcAddress, and what cudaGetDriverEntryPoint of the runtime answers.
#include <dlfcn.h>

#include <string>

#include "vgpu/driver/driver.hpp"
#include "vgpu/driver_entry.hpp"

using namespace vgpu;
using namespace vgpu::driver;

/// Where stand-ins for absent functions are linked.
extern "C" bool vgpu_is_stand_in(const void* function) __attribute__((weak));

namespace {

/// The library that this function is in.
void* own_library() {
    Dl_info info{};
    dladdr(reinterpret_cast<const void*>(&own_library), &info);
    void* const library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    return library != nullptr ? library : RTLD_DEFAULT;
}

/// The newest form that vgpu has; null if none. Stand-ins for absent functions don't count.
void* find_function(const char* name) {
    static void* const library = own_library();
    for (const char* const suffix : {"_v4", "_v3", "_v2", ""}) {
        void* const found = dlsym(library, (std::string(name) + suffix).c_str());
        if (found != nullptr && (vgpu_is_stand_in == nullptr || !vgpu_is_stand_in(found)))
            return found;
    }
    return nullptr;
}

[[maybe_unused]] const bool connected = (set_driver_entry_source(&find_function), true);

}  // namespace

#pragma GCC visibility push(default)  // what programs link to
extern "C" {

CUresult CUDAAPI cuGetProcAddress(const char* name, void** function, int version, cuuint64_t,
                                  CUdriverProcAddressQueryResult* result) {
    return without_init([&] {
        require(name != nullptr && function != nullptr && *name != '\0', "an argument is null");
        *function = find_function(name);
        const auto outcome = *function == nullptr     ? CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND
                             : version > CUDA_VERSION ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                                      : CU_GET_PROC_ADDRESS_SUCCESS;
        if (result != nullptr) *result = outcome;
        return *function == nullptr && result == nullptr ? cudaErrorSymbolNotFound : cudaSuccess;
    });
}

}  // extern "C"
#pragma GCC visibility pop
