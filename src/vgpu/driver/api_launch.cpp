// Launches and occupancy.
#include <algorithm>
#include <vector>

#include "vgpu/driver/driver.hpp"
#include "vgpu/launch.hpp"

using namespace vgpu;
using namespace vgpu::driver;

namespace {

/// The arguments out of the one buffer that `extra` names.
std::vector<void*> arguments_in_buffer(const KernelDescription& kernel, void** extra) {
    std::byte* buffer = nullptr;
    std::size_t bytes = 0;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = static_cast<std::byte*>(extra[1]);
        else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
            bytes = *static_cast<std::size_t*>(extra[1]);
        else
            throw ApiError{cudaErrorInvalidValue, "extra has an unknown key"};
    }
    require(buffer != nullptr || kernel.argument_count == 0, "extra names no buffer");
    require(kernel.argument_offsets != nullptr || kernel.argument_count <= 1,
            "the kernel has a host body, whose arguments can't come in a buffer");
    std::vector<void*> arguments;
    for (std::size_t i = 0; i < kernel.argument_count; ++i) {
        const std::size_t offset = i == 0 ? 0 : kernel.argument_offsets[i];
        require(offset + kernel.argument_sizes[i] <= bytes, "the buffer of extra is too small");
        arguments.push_back(buffer + offset);
    }
    return arguments;
}

cudaError_t launch(const cudaLaunchConfig_t& config, CUfunction function, void** parameters,
                   void** extra) {
    if (extra == nullptr) return cudaLaunchKernelExC(&config, function, parameters);
    require(parameters == nullptr, "kernelParams and extra are both given");
    std::vector<void*> arguments = arguments_in_buffer(kernel_at(function).description, extra);
    return cudaLaunchKernelExC(&config, function, arguments.data());
}

cudaLaunchConfig_t configuration(dim3 grid, dim3 block, unsigned shared, CUstream stream) {
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    return config;
}

}  // namespace

#pragma GCC visibility push(default)  // what programs link to
extern "C" {

CUresult CUDAAPI cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                unsigned int block_z, unsigned int shared, CUstream stream,
                                void** parameters, void** extra) {
    return with_context([&] {
        const auto config =
            configuration({grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, stream);
        return launch(config, function, parameters, extra);
    });
}

CUresult CUDAAPI cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x,
                                           unsigned int grid_y, unsigned int grid_z,
                                           unsigned int block_x, unsigned int block_y,
                                           unsigned int block_z, unsigned int shared,
                                           CUstream stream, void** parameters) {
    return with_context([&] {
        return cudaLaunchCooperativeKernel(function, dim3(grid_x, grid_y, grid_z),
                                           dim3(block_x, block_y, block_z), parameters, shared,
                                           stream);
    });
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig* wanted, CUfunction function,
                                  void** parameters, void** extra) {
    return with_context([&] {
        require(wanted != nullptr, "config is null");
        auto config = configuration({wanted->gridDimX, wanted->gridDimY, wanted->gridDimZ},
                                    {wanted->blockDimX, wanted->blockDimY, wanted->blockDimZ},
                                    wanted->sharedMemBytes, wanted->hStream);
        static_assert(sizeof(CUlaunchAttribute) == sizeof(cudaLaunchAttribute));
        config.attrs = reinterpret_cast<cudaLaunchAttribute*>(wanted->attrs);
        config.numAttrs = wanted->numAttrs;
        return launch(config, function, parameters, extra);
    });
}

CUresult CUDAAPI cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
    return with_context([&] { return cudaLaunchHostFunc(stream, function, data); });
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function,
                                                             int threads, size_t shared) {
    return with_context([&] {
        return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared);
    });
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks,
                                                                      CUfunction function,
                                                                      int threads, size_t shared,
                                                                      unsigned int flags) {
    return with_context([&] {
        return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads,
                                                                      shared, flags);
    });
}

CUresult CUDAAPI cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction function,
                                                         int blocks, int threads) {
    return with_context([&] {
        return cudaOccupancyAvailableDynamicSMemPerBlock(bytes, function, blocks, threads);
    });
}

/// The block size with the most threads resident; the largest of those.
CUresult CUDAAPI cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction function,
                                                  CUoccupancyB2DSize shared_of, size_t shared,
                                                  int limit) {
    return with_context([&] {
        require(grid != nullptr && block != nullptr, "minGridSize or blockSize is null");
        const Kernel& kernel = kernel_at(function);
        const cudaDeviceProp& device = current_device(machine()).properties;
        int most = kernel.description.max_threads_per_block;
        if (limit > 0) most = std::min(most, limit);
        int best = 0;
        for (int threads = most; threads > 0; threads = (threads - 1) / 32 * 32) {
            const std::size_t bytes = shared_of != nullptr ? shared_of(threads) : shared;
            const int blocks =
                blocks_per_multiprocessor(device, kernel, static_cast<unsigned>(threads), bytes);
            if (blocks * threads <= best) continue;
            best = blocks * threads;
            *block = threads;
            *grid = blocks * device.multiProcessorCount;
        }
        return cudaSuccess;
    });
}

}  // extern "C"
#pragma GCC visibility pop
