#include "cuda/check.hpp"

#include <cstdio>

namespace rondo {

namespace {

std::string current_device_text() {
    int device = 0;
    return cudaGetDevice(&device) == cudaSuccess ? "device " + std::to_string(device)
                                                 : "device unknown";
}

std::string_view file_name(std::string_view path) {
    const auto slash = path.find_last_of('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace

std::string describe_failure(cudaError_t status, std::string_view what,
                             const std::source_location& where) {
    std::string text(what);
    text.append(": ").append(cudaGetErrorName(status));
    text.append(" (").append(cudaGetErrorString(status)).append(") at ");
    text.append(file_name(where.file_name())).append(":").append(std::to_string(where.line()));
    return text.append(", ").append(current_device_text());
}

void throw_cuda_error(cudaError_t status, std::string_view what,
                      const std::source_location& where) {
    const std::string text = describe_failure(status, what, where);
    static_cast<void>(cudaGetLastError());
    throw CudaError(status, text);
}

void log_cuda_error(cudaError_t status, std::string_view what,
                    const std::source_location& where) noexcept {
    try {
        const std::string text = describe_failure(status, what, where);
        std::fprintf(stderr, "rondo: %s\n", text.c_str());
    } catch (...) {  // out of memory while building the text
        std::fprintf(stderr, "rondo: CUDA error %d\n", static_cast<int>(status));
    }
    static_cast<void>(cudaGetLastError());
}

}  // namespace rondo
