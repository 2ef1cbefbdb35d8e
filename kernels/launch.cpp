// Starts kernels through the CUDA runtime API.
#include "kernels/launch.hpp"

#include <string>

#include "cuda/check.hpp"
#include "cuda/device_guard.hpp"

namespace rondo::kernels {

void launch_entry(const void* entry, const char* name, void* arguments, StreamRef stream,
                  const LaunchOptions& options, const std::source_location& where) {
    const DeviceGuard guard(stream.device());
    cudaLaunchAttribute cooperative{};
    cooperative.id = cudaLaunchAttributeCooperative;
    cooperative.val.cooperative = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(options.blocks);
    config.blockDim = dim3(options.threads);
    config.stream = stream.get();
    config.attrs = &cooperative;
    config.numAttrs = options.cooperative ? 1 : 0;
    void* argument_list[] = {arguments};
    const cudaError_t status = cudaLaunchKernelExC(&config, entry, argument_list);
    if (status != cudaSuccess) [[unlikely]] {
        throw_cuda_error(status, std::string("launch of ") + name, where);
    }
}

}  // namespace rondo::kernels
