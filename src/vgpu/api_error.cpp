// Error handling: last-error rules, names and texts.
#include <algorithm>
#include <array>

#include "vgpu/api.hpp"
#include "vgpu/error_names.hpp"

using namespace vgpu;

#pragma GCC visibility push(default)  // what programs link to
extern "C" {

cudaError_t CUDARTAPI cudaGetLastError() {
    ThreadState& thread = this_thread();
    const cudaError_t error = std::exchange(thread.last_error, cudaSuccess);
    Machine* current = machine_if_any();
    if (error != cudaSuccess || current == nullptr || thread.device >= current->device_count())
        return error;
    return current->device(thread.device).sticky_error.load();
}

cudaError_t CUDARTAPI cudaPeekAtLastError() {
    ThreadState& thread = this_thread();
    Machine* current = machine_if_any();
    if (thread.last_error != cudaSuccess || current == nullptr ||
        thread.device >= current->device_count()) {
        return thread.last_error;
    }
    return current->device(thread.device).sticky_error.load();
}

const char* CUDARTAPI cudaGetErrorName(cudaError_t error) {
    return error_name(error);
}

const char* CUDARTAPI cudaGetErrorString(cudaError_t error) {
    // Programs print this text; it is their only word about a wrong VGPU_TOPOLOGY.
    const char* const reason = error == cudaErrorInitializationError ? why_no_machine() : nullptr;
    return reason != nullptr ? reason : error_text(error);
}

}  // extern "C"
#pragma GCC visibility pop
