// Variables of device code by their host addresses: addresses, sizes, copies.
#include <fmt/format.h>

#include "vgpu/api.hpp"
#include "vgpu/module/program.hpp"

using namespace vgpu;

namespace {

/// [offset, offset + bytes) of the variable; throws where it ends before.
void* part_of(const void* symbol, std::size_t offset, std::size_t bytes) {
    const std::span<std::byte> variable = program_variable(symbol);
    if (offset > variable.size() || bytes > variable.size() - offset) {
        throw ApiError{cudaErrorInvalidValue,
                       fmt::format("{} bytes from byte {} on of a variable of {} bytes", bytes,
                                   offset, variable.size())};
    }
    return variable.data() + offset;
}

/// Finds the part, then copies; the copy is the call that counts.
template <class Copy>
cudaError_t with_part(const char* function, const void* symbol, std::size_t offset,
                      std::size_t bytes, Copy copy) {
    void* part = nullptr;
    const cudaError_t status = api(function, [&](Machine& machine) {
        current_device(machine);
        part = part_of(symbol, offset, bytes);
        return cudaSuccess;
    });
    return status == cudaSuccess ? copy(part) : status;
}

}  // namespace

#pragma GCC visibility push(default)  // what programs link to
extern "C" {

cudaError_t CUDARTAPI cudaGetSymbolAddress(void** address, const void* symbol) {
    return api("cudaGetSymbolAddress", [&](Machine& machine) {
        require(address != nullptr, "devPtr is null");
        current_device(machine);
        *address = program_variable(symbol).data();
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaGetSymbolSize(size_t* bytes, const void* symbol) {
    return api("cudaGetSymbolSize", [&](Machine& machine) {
        require(bytes != nullptr, "size is null");
        current_device(machine);
        *bytes = program_variable(symbol).size();
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaMemcpyToSymbol(const void* symbol, const void* source, size_t bytes,
                                         size_t offset, cudaMemcpyKind kind) {
    return with_part("cudaMemcpyToSymbol", symbol, offset, bytes,
                     [&](void* part) { return cudaMemcpy(part, source, bytes, kind); });
}

cudaError_t CUDARTAPI cudaMemcpyFromSymbol(void* destination, const void* symbol, size_t bytes,
                                           size_t offset, cudaMemcpyKind kind) {
    return with_part("cudaMemcpyFromSymbol", symbol, offset, bytes,
                     [&](void* part) { return cudaMemcpy(destination, part, bytes, kind); });
}

cudaError_t CUDARTAPI cudaMemcpyToSymbolAsync(const void* symbol, const void* source, size_t bytes,
                                              size_t offset, cudaMemcpyKind kind,
                                              cudaStream_t stream) {
    return with_part("cudaMemcpyToSymbolAsync", symbol, offset, bytes, [&](void* part) {
        return cudaMemcpyAsync(part, source, bytes, kind, stream);
    });
}

cudaError_t CUDARTAPI cudaMemcpyFromSymbolAsync(void* destination, const void* symbol, size_t bytes,
                                                size_t offset, cudaMemcpyKind kind,
                                                cudaStream_t stream) {
    return with_part("cudaMemcpyFromSymbolAsync", symbol, offset, bytes, [&](void* part) {
        return cudaMemcpyAsync(destination, part, bytes, kind, stream);
    });
}

cudaError_t CUDARTAPI cudaMemcpyToSymbol_ptds(const void* symbol, const void* source, size_t bytes,
                                              size_t offset, cudaMemcpyKind kind) {
    const PerThreadDefault scope;
    return cudaMemcpyToSymbol(symbol, source, bytes, offset, kind);
}

cudaError_t CUDARTAPI cudaMemcpyFromSymbol_ptds(void* destination, const void* symbol, size_t bytes,
                                                size_t offset, cudaMemcpyKind kind) {
    const PerThreadDefault scope;
    return cudaMemcpyFromSymbol(destination, symbol, bytes, offset, kind);
}

cudaError_t CUDARTAPI cudaMemcpyToSymbolAsync_ptsz(const void* symbol, const void* source,
                                                   size_t bytes, size_t offset, cudaMemcpyKind kind,
                                                   cudaStream_t stream) {
    const PerThreadDefault scope;
    return cudaMemcpyToSymbolAsync(symbol, source, bytes, offset, kind, stream);
}

cudaError_t CUDARTAPI cudaMemcpyFromSymbolAsync_ptsz(void* destination, const void* symbol,
                                                     size_t bytes, size_t offset,
                                                     cudaMemcpyKind kind, cudaStream_t stream) {
    const PerThreadDefault scope;
    return cudaMemcpyFromSymbolAsync(destination, symbol, bytes, offset, kind, stream);
}

}  // extern "C"
#pragma GCC visibility pop
