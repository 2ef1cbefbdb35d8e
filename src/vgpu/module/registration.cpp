// The functions that code compiled by nvcc calls besides the public runtime API: registration of
// fatbins, kernels and variables, and the launches behind <<<>>>.
#include <cuda_runtime_api.h>

#include <vector>

#include "vgpu/api.hpp"
#include "vgpu/launch.hpp"
#include "vgpu/module/program.hpp"

using namespace vgpu;

namespace {

/// What stands between <<< and >>>.
struct LaunchConfiguration {
    dim3 grid, block;
    std::size_t shared_bytes = 0;
    cudaStream_t stream = nullptr;
};

/// Arguments of a launch may contain launches.
std::vector<LaunchConfiguration>& pushed_configurations() {
    thread_local std::vector<LaunchConfiguration> stack;
    return stack;
}

ProgramBinary* binary_of(void** handle) {
    return reinterpret_cast<ProgramBinary*>(handle);
}

/// Tells the host's code where its managed variables are.
void publish_managed(ProgramBinary& binary) {
    for (const ProgramVariable& each : Program::of_this_process().managed_variables(&binary))
        *each.managed = program_variable(each.managed).data();
}

}  // namespace

#pragma GCC visibility push(default)  // what programs link to
extern "C" {

void** CUDARTAPI __cudaRegisterFatBinary(void* wrapper) {
    set_kernel_source(&provide_program_kernel);
    return reinterpret_cast<void**>(Program::of_this_process().add_binary(wrapper));
}

void CUDARTAPI __cudaRegisterFatBinaryEnd(void**) {}

void CUDARTAPI __cudaUnregisterFatBinary(void** handle) {
    Program::of_this_process().remove_binary(binary_of(handle));
}

void CUDARTAPI __cudaRegisterFunction(void** handle, const char* entry, char*, const char* name,
                                      int, uint3*, uint3*, dim3*, dim3*, int*) {
    Program::of_this_process().add_function(entry, {binary_of(handle), name});
}

void CUDARTAPI __cudaRegisterVar(void** handle, char* host, char*, const char* name, int,
                                 size_t bytes, int, int) {
    Program::of_this_process().add_variable(host, {binary_of(handle), name, bytes});
}

void CUDARTAPI __cudaRegisterManagedVar(void** handle, void** host, char*, const char* name, int,
                                        size_t bytes, int, int) {
    Program::of_this_process().add_variable(host, {binary_of(handle), name, bytes, host});
}

/// Called before the host's code touches a managed variable.
char CUDARTAPI __cudaInitModule(void** handle) {
    return api("__cudaInitModule", [&](Machine&) {
               publish_managed(*binary_of(handle));
               return cudaSuccess;
           }) == cudaSuccess;
}

unsigned CUDARTAPI __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                               CUstream_st* stream) {
    pushed_configurations().push_back({grid, block, shared_bytes, stream});
    return 0;
}

cudaError_t CUDARTAPI __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes,
                                                 void* stream) {
    auto& stack = pushed_configurations();
    if (stack.empty()) return conclude("<<<>>>", cudaErrorMissingConfiguration, "");
    const LaunchConfiguration& top = stack.back();
    *grid = top.grid;
    *block = top.block;
    *shared_bytes = top.shared_bytes;
    *static_cast<cudaStream_t*>(stream) = top.stream;
    stack.pop_back();
    return cudaSuccess;
}

/// A kernel's handle is its entry. What is wrong with it is said when it is launched.
cudaError_t CUDARTAPI __cudaGetKernel(cudaKernel_t* kernel, const void* entry) {
    *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(entry));
    return cudaSuccess;
}

cudaError_t CUDARTAPI __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block,
                                         void** arguments, size_t shared_bytes,
                                         cudaStream_t stream) {
    return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, arguments,
                            shared_bytes, stream);
}

cudaError_t CUDARTAPI __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block,
                                              void** arguments, size_t shared_bytes,
                                              cudaStream_t stream) {
    const PerThreadDefault scope;
    return __cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream);
}

}  // extern "C"
#pragma GCC visibility pop
