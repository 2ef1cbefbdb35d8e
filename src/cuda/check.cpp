#include "cuda/check.hpp"

#include <atomic>
#include <cstdio>

namespace rondo {

namespace {

std::string device_text(FailedDevice named) {
    int device = 0;
    if (named) {
        device = named->value();
    } else if (cudaGetDevice(&device) != cudaSuccess) {
        return "device unknown";
    }
    return "device " + std::to_string(device);
}

std::string_view file_name(std::string_view path) {
    const auto slash = path.find_last_of('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

/// Errors that stay: every later call for the device returns them, so those of destructors are no
/// news.
bool breaks_the_device(cudaError_t status) {
    switch (status) {
        case cudaErrorIllegalAddress:
        case cudaErrorMisalignedAddress:
        case cudaErrorIllegalInstruction:
        case cudaErrorInvalidAddressSpace:
        case cudaErrorInvalidPc:
        case cudaErrorHardwareStackError:
        case cudaErrorAssert:
        case cudaErrorLaunchFailure:
        case cudaErrorLaunchTimeout:
        case cudaErrorECCUncorrectable:
        case cudaErrorNvlinkUncorrectable:
        case cudaErrorDevicesUnavailable:
            return true;
        default:
            return false;
    }
}

/// Whether to write it: such an error once, until another one comes.
bool is_news(cudaError_t status) {
    static std::atomic<cudaError_t> told{cudaSuccess};
    return !breaks_the_device(status) || told.exchange(status) != status;
}

}  // namespace

std::string describe_failure(cudaError_t status, std::string_view what,
                             const std::source_location& where, FailedDevice device) {
    std::string text(what);
    text.append(": ").append(cudaGetErrorName(status));
    text.append(" (").append(cudaGetErrorString(status)).append(") at ");
    text.append(file_name(where.file_name())).append(":").append(std::to_string(where.line()));
    return text.append(", ").append(device_text(device));
}

void throw_cuda_error(cudaError_t status, std::string_view what, const std::source_location& where,
                      FailedDevice device) {
    const std::string text = describe_failure(status, what, where, device);
    static_cast<void>(cudaGetLastError());
    throw CudaError(status, text);
}

void log_cuda_error(cudaError_t status, std::string_view what, const std::source_location& where,
                    FailedDevice device) noexcept {
    try {
        if (is_news(status)) {
            const std::string text = describe_failure(status, what, where, device);
            std::fprintf(stderr, "rondo: %s\n", text.c_str());
        }
    } catch (...) {  // out of memory while building the text
        std::fprintf(stderr, "rondo: CUDA error %d\n", static_cast<int>(status));
    }
    static_cast<void>(cudaGetLastError());
}

}  // namespace rondo
