// Housekeeping while somebody captures.
//
// A capture in global mode, CUDA's default, forbids potentially unsafe calls (allocation, event
// queries, synchronisation ...) to every thread of the process, and such a call invalidates it,
// unless its thread is in relaxed mode. What src/cuda does for its callers never belongs to a
// capture of theirs, so allocation, freeing, event queries and waiting are done in relaxed mode.
#pragma once

#include <cuda_runtime_api.h>

namespace rondo {

namespace detail {
/// How many RelaxedCaptureMode live in the thread.
extern constinit thread_local unsigned relaxed_scopes;
}  // namespace detail

/// While it lives, potentially unsafe calls of the calling thread succeed although somebody
/// captures, and invalidate nothing. Stays in its thread. One inside another costs nothing.
class RelaxedCaptureMode {
public:
    RelaxedCaptureMode() {
        if (detail::relaxed_scopes == 0) begin();
        ++detail::relaxed_scopes;
    }
    ~RelaxedCaptureMode() {
        if (--detail::relaxed_scopes == 0) end();
    }

    RelaxedCaptureMode(const RelaxedCaptureMode&) = delete;
    RelaxedCaptureMode& operator=(const RelaxedCaptureMode&) = delete;

private:
    void begin();
    void end() noexcept;

    cudaStreamCaptureMode mode_ =
        cudaStreamCaptureModeRelaxed;  // of the outermost: what was before
};

}  // namespace rondo
