// Runs a body on all its items: with a thread each on a GPU, in contiguous shares of a few blocks
// on vgpu. Included by exactly one file of each variant of the target.
#pragma once

#include <algorithm>
#include <source_location>
#include <string>
#include <type_traits>

#include "cuda/check.hpp"
#include "cuda/device_guard.hpp"
#include "cuda/stream.hpp"
#include "training/kernels/bodies.hpp"
#if !defined(__CUDACC__)
#include "vgpu/block.hpp"
#include "vgpu/kernel.hpp"
#endif

namespace rondo::training::kernels {

#if defined(__CUDACC__)

template <class Body>
__global__ void __launch_bounds__(256) body_kernel(Body body) {
    const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < body.items();
         i += stride) {
        body(i);
    }
}

inline constexpr unsigned body_threads = 256;

template <class Body>
unsigned blocks_for(const Body& body) {
    return static_cast<unsigned>(
        std::clamp<std::uint64_t>((body.items() + body_threads - 1) / body_threads, 1, 4096));
}

template <class Body>
const void* published(const char*) {
    return reinterpret_cast<const void*>(&body_kernel<Body>);
}

#else

/// Block b does the b-th contiguous share. The first tells vgpu what the whole launch touches.
template <class Body>
void body_kernel(Body body) {
    const vgpu::BlockInfo& block = vgpu::current_block();
    const std::uint64_t index = block.block_index.x, count = block.grid_dim.x;
    if (vgpu::checking() && index == 0) {
        body.regions([](const auto* data, std::uint64_t elements, bool write) {
            vgpu::check_access(data, elements * sizeof(*data),
                               write ? vgpu::Access::write : vgpu::Access::read,
                               alignof(std::remove_cvref_t<decltype(*data)>));
        });
    }
    vgpu::preemption_point();
    vgpu::announce_work(body.cost() / count);
    const std::uint64_t end = body.items() * (index + 1) / count;
    for (std::uint64_t i = body.items() * index / count; i < end; ++i) body(i);
}

inline constexpr unsigned body_threads = 1;

template <class Body>
unsigned blocks_for(const Body& body) {
    return static_cast<unsigned>(std::clamp<std::uint64_t>(body.cost() >> 18, 1, 8));
}

template <class Body>
const void* published(const char* name) {
    const void* const entry = reinterpret_cast<const void*>(&body_kernel<Body>);
    static constexpr std::size_t argument_bytes = sizeof(Body);
    static const bool registered = [&] {
        vgpu::register_kernel(
            entry,
            {.name = name,
             .run = [](void** arguments) { body_kernel(*static_cast<const Body*>(arguments[0])); },
             .argument_sizes = &argument_bytes,
             .argument_count = 1});
        return true;
    }();
    static_cast<void>(registered);
    return entry;
}

#endif

/// Enqueues the body. `name` is for reports and must live as long as the program.
template <class Body>
void parallel_for(StreamRef stream, const Body& body, const char* name,
                  const std::source_location& where = std::source_location::current()) {
    if (body.items() == 0) return;
    const DeviceGuard guard(stream.device());
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(blocks_for(body));
    config.blockDim = dim3(body_threads);
    config.stream = stream.get();
    void* arguments[] = {const_cast<Body*>(&body)};
    const cudaError_t status = cudaLaunchKernelExC(&config, published<Body>(name), arguments);
    if (status != cudaSuccess) throw_cuda_error(status, std::string("launch of ") + name, where);
}

}  // namespace rondo::training::kernels
