// What every function of the driver API shares. The driver's functions are thin: they check what
// the driver checks (initialisation, a current context) and call the runtime API below.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <exception>
#include <utility>

#include "vgpu/api.hpp"
#include "vgpu/driver/context.hpp"

namespace vgpu::driver {

/// The driver's number for an error of the runtime; most are the same.
CUresult result_of(cudaError_t error);

/// Marks the thread as inside the driver, and keeps the runtime's last error as it was.
class DriverScope {
public:
    DriverScope()
        : thread_(this_thread()),
          error_(thread_.last_error),
          was_in_driver_(std::exchange(thread_.in_driver, true)) {}
    ~DriverScope() {
        thread_.last_error = error_;
        thread_.in_driver = was_in_driver_;
    }
    DriverScope(const DriverScope&) = delete;
    DriverScope& operator=(const DriverScope&) = delete;

private:
    ThreadState& thread_;
    cudaError_t error_;
    bool was_in_driver_;
};

/// Runs the body, which returns a cudaError_t or throws ApiError, as a function of the driver that
/// needs nothing before it.
template <class Body>
CUresult without_init(Body body) noexcept {
    const DriverScope scope;
    try {
        return result_of(body());
    } catch (const ApiError& error) {
        return result_of(error.code);
    } catch (const std::bad_alloc&) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    } catch (const std::exception&) {
        return CUDA_ERROR_UNKNOWN;
    }
}

/// The same for functions that need cuInit.
template <class Body>
CUresult with_init(Body body) noexcept {
    if (!initialised()) return CUDA_ERROR_NOT_INITIALIZED;
    return without_init(std::move(body));
}

/// The same for functions that need a current context.
template <class Body>
CUresult with_context(Body body) noexcept {
    if (!initialised()) return CUDA_ERROR_NOT_INITIALIZED;
    if (current_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    return without_init(std::move(body));
}

inline void* pointer_of(CUdeviceptr address) {
    return reinterpret_cast<void*>(address);
}

}  // namespace vgpu::driver
