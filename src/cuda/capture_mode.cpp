#include "cuda/capture_mode.hpp"

#include "cuda/check.hpp"

namespace rondo {

constinit thread_local unsigned detail::relaxed_scopes = 0;

void RelaxedCaptureMode::begin() {
    check(cudaThreadExchangeStreamCaptureMode(&mode_), "cudaThreadExchangeStreamCaptureMode");
}

void RelaxedCaptureMode::end() noexcept {
    check_noexcept(cudaThreadExchangeStreamCaptureMode(&mode_),
                   "cudaThreadExchangeStreamCaptureMode");
}

}  // namespace rondo
