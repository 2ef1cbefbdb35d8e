// The way to the driver's API. What the runtime has no name for, programs reach by asking for the
// driver's entry point: vgpu has what Rondo and its tests ask for, and says of the rest that the
// driver does not know it.
#include <cuda.h>

#include <atomic>
#include <string_view>

#include "vgpu/api.hpp"
#include "vgpu/driver_entry.hpp"

using namespace vgpu;

namespace {

std::atomic<DriverEntrySource> entry_source{nullptr};

constexpr unsigned oldest_version = 11040;  // since when cuPointerGetAttributes has the attributes

void store_attribute(CUpointer_attribute attribute, void* result,
                     const std::optional<Allocation>& found) {
    switch (attribute) {
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
            *static_cast<CUdeviceptr*>(result) = found ? found->begin : 0;
            break;
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
            *static_cast<std::size_t*>(result) = found ? found->bytes : 0;
            break;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            *static_cast<int*>(result) = found ? found->device : cudaInvalidDeviceId;
            break;
        default:
            throw ApiError{cudaErrorInvalidValue, "the attribute is unknown"};
    }
}

/// Of an address that CUDA does not know, all answers are 0. The driver keeps no last error.
CUresult CUDAAPI pointer_get_attributes(unsigned count, CUpointer_attribute* attributes,
                                        void** results, CUdeviceptr pointer) {
    try {
        Machine& all = machine();
        const cudaError_t early = before_call(all, "cuPointerGetAttributes");
        if (early != cudaSuccess) return static_cast<CUresult>(early);  // the numbers are the same
        require(attributes != nullptr && results != nullptr && count > 0, "an argument is null");
        require_healthy(device_at(all, this_thread().device));
        const auto found = all.memory().find(reinterpret_cast<const void*>(pointer));
        for (unsigned i = 0; i < count; ++i) store_attribute(attributes[i], results[i], found);
        return CUDA_SUCCESS;
    } catch (const ApiError& error) {
        return static_cast<CUresult>(error.code);
    } catch (const std::exception&) {
        return CUDA_ERROR_UNKNOWN;
    }
}

cudaError_t entry_point(const char* function, const char* symbol, void** entry, unsigned version,
                        cudaDriverEntryPointQueryResult* result) {
    return api(function, [&](Machine&) {
        require(symbol != nullptr && entry != nullptr, "symbol or funcPtr is null");
        require(*symbol != '\0', "symbol is empty");
        require(version <= CUDART_VERSION, "the version is newer than the driver");
        *entry = nullptr;
        auto outcome = cudaDriverEntryPointSymbolNotFound;
        if (const DriverEntrySource source = entry_source; source != nullptr) {
            *entry = source(symbol);
            if (*entry != nullptr) outcome = cudaDriverEntryPointSuccess;
            if (result != nullptr) *result = outcome;
            return cudaSuccess;
        }
        if (std::string_view(symbol) == "cuPointerGetAttributes") {
            outcome = version < oldest_version ? cudaDriverEntryPointVersionNotSufficent
                                               : cudaDriverEntryPointSuccess;
        }
        if (outcome == cudaDriverEntryPointSuccess)
            *entry = reinterpret_cast<void*>(&pointer_get_attributes);
        if (result != nullptr) *result = outcome;
        return cudaSuccess;
    });
}

}  // namespace

void vgpu::set_driver_entry_source(DriverEntrySource source) {
    entry_source = source;
}

#pragma GCC visibility push(default)  // what programs link to
extern "C" {

cudaError_t CUDARTAPI cudaGetDriverEntryPoint(const char* symbol, void** entry, unsigned long long,
                                              cudaDriverEntryPointQueryResult* result) {
    return entry_point("cudaGetDriverEntryPoint", symbol, entry, CUDART_VERSION, result);
}

cudaError_t CUDARTAPI cudaGetDriverEntryPointByVersion(const char* symbol, void** entry,
                                                       unsigned int version, unsigned long long,
                                                       cudaDriverEntryPointQueryResult* result) {
    return entry_point("cudaGetDriverEntryPointByVersion", symbol, entry, version, result);
}

}  // extern "C"
#pragma GCC visibility pop
