// Kernels: registration, launch, attributes, occupancy.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <shared_mutex>
#include <unordered_map>

#include "vgpu/api.hpp"
#include "vgpu/launch.hpp"

namespace vgpu {

namespace {

struct Registry {
    std::shared_mutex mutex;
    std::unordered_map<const void*, std::unique_ptr<Kernel>> kernels;
    std::unordered_map<std::string_view, Kernel*> by_name;
    std::atomic<KernelSource> source{nullptr};
};

Registry& registry() {
    static Registry* kernels = new Registry;  // kernels may be launched while the program ends
    return *kernels;
}

}  // namespace

void register_kernel(const void* entry, const KernelDescription& description) {
    std::unique_lock lock(registry().mutex);
    auto& kernel = registry().kernels[entry];
    if (!kernel) {
        kernel = std::make_unique<Kernel>();
        kernel->number = registry().kernels.size() - 1;
    }
    kernel->entry = entry;
    kernel->description = description;
    kernel->max_dynamic_shared_bytes =
        std::max(0, 48 * 1024 - static_cast<int>(description.static_shared_bytes));
    registry().by_name.try_emplace(description.name, kernel.get());
}

const Kernel* find_kernel_by_name(std::string_view name) {
    std::shared_lock lock(registry().mutex);
    const auto found = registry().by_name.find(name);
    return found == registry().by_name.end() ? nullptr : found->second;
}

void set_kernel_source(KernelSource source) {
    registry().source = source;
}

Kernel* find_kernel(const void* entry) {
    thread_local Kernel* latest = nullptr;  // mostly the next launch is of the same kernel
    if (latest != nullptr && latest->entry == entry) return latest;
    std::shared_lock lock(registry().mutex);
    const auto found = registry().kernels.find(entry);
    if (found == registry().kernels.end()) return nullptr;
    latest = found->second.get();
    return latest;
}

Kernel& kernel_at(const void* entry) {
    Kernel* kernel = entry == nullptr ? nullptr : find_kernel(entry);
    const KernelSource source = registry().source.load(std::memory_order_relaxed);
    if (kernel == nullptr && source != nullptr && source(entry)) kernel = find_kernel(entry);
    if (kernel == nullptr)
        throw ApiError{cudaErrorInvalidDeviceFunction,
                       "the function is not a kernel that was registered"};
    return *kernel;
}

int blocks_per_multiprocessor(const cudaDeviceProp& device, const Kernel& kernel, unsigned threads,
                              std::size_t dynamic_shared) {
    if (threads == 0 || static_cast<int>(threads) > kernel.description.max_threads_per_block)
        return 0;
    const unsigned rounded = (threads + 31) / 32 * 32;
    int blocks = std::min(device.maxBlocksPerMultiProcessor,
                          device.maxThreadsPerMultiProcessor / static_cast<int>(rounded));
    const auto registers =
        static_cast<unsigned>(std::max(1, kernel.description.registers_per_thread));
    blocks = std::min(blocks, static_cast<int>(static_cast<unsigned>(device.regsPerMultiprocessor) /
                                               (registers * rounded)));
    const std::size_t shared =
        dynamic_shared + kernel.description.static_shared_bytes + device.reservedSharedMemPerBlock;
    if (shared > device.sharedMemPerMultiprocessor) return 0;
    if (shared > 0)
        blocks = std::min(blocks, static_cast<int>(device.sharedMemPerMultiprocessor / shared));
    return blocks;
}

void check_launch(const Device& device, const KernelCommand& launch) {
    const cudaDeviceProp& limits = device.properties;
    const auto fail = [](const char* detail) {
        throw ApiError{cudaErrorInvalidConfiguration, detail};
    };
    if (launch.grid.x == 0 || launch.grid.y == 0 || launch.grid.z == 0)
        fail("a grid dimension is 0");
    if (launch.block.x == 0 || launch.block.y == 0 || launch.block.z == 0)
        fail("a block dimension is 0");
    if (launch.grid.x > static_cast<unsigned>(limits.maxGridSize[0]) ||
        launch.grid.y > static_cast<unsigned>(limits.maxGridSize[1]) ||
        launch.grid.z > static_cast<unsigned>(limits.maxGridSize[2])) {
        fail("a grid dimension is too large");
    }
    if (launch.block.x > static_cast<unsigned>(limits.maxThreadsDim[0]) ||
        launch.block.y > static_cast<unsigned>(limits.maxThreadsDim[1]) ||
        launch.block.z > static_cast<unsigned>(limits.maxThreadsDim[2]) ||
        std::size_t{launch.block.x} * launch.block.y * launch.block.z >
            static_cast<std::size_t>(limits.maxThreadsPerBlock)) {
        fail("the block has too many threads");
    }
    const Kernel& kernel = *launch.kernel;
    if (launch.threads_per_block() >
        static_cast<unsigned>(kernel.description.max_threads_per_block)) {
        throw ApiError{cudaErrorInvalidConfiguration,
                       fmt::format("the kernel takes at most {} threads per block",
                                   kernel.description.max_threads_per_block)};
    }
    if (launch.dynamic_shared_bytes > static_cast<std::size_t>(kernel.max_dynamic_shared_bytes)) {
        throw ApiError{cudaErrorInvalidValue,
                       fmt::format("{} bytes of dynamic shared memory; the kernel's limit is {}",
                                   launch.dynamic_shared_bytes, kernel.max_dynamic_shared_bytes)};
    }
    if (!launch.cooperative) return;
    const std::size_t places =
        static_cast<std::size_t>(limits.multiProcessorCount) *
        static_cast<std::size_t>(blocks_per_multiprocessor(
            limits, kernel, launch.threads_per_block(), launch.dynamic_shared_bytes));
    if (launch.blocks() > places) {
        throw ApiError{
            cudaErrorCooperativeLaunchTooLarge,
            fmt::format("{} blocks; the device holds {} of them at once", launch.blocks(), places)};
    }
}

namespace {

/// Whether the device has not loaded the kernel yet; now it has. With the scheduler's lock held.
bool is_first_use(Device& device, const Kernel& kernel) {
    std::vector<bool>& loaded = device.loaded_kernels;
    if (kernel.number >= loaded.size()) loaded.resize(kernel.number + 1);
    if (loaded[kernel.number]) return false;
    loaded[kernel.number] = true;
    return true;
}

/// The first launch of a kernel on a device loads it, and a driver may synchronise for that.
void load_lazily(Machine& machine, Device& device) {
    may_synchronise(machine, device);
    require_healthy(device);
}

cudaError_t launch(const char* function, const void* entry, const cudaLaunchConfig_t& config,
                   void** arguments, bool cooperative) {
    return api(function, [&](Machine& machine) {
        Kernel& kernel = kernel_at(entry);
        OperationPtr operation = Operation::make();
        auto& command = operation->command.emplace<KernelCommand>();
        command.kernel = &kernel;
        command.grid = config.gridDim;
        command.block = config.blockDim;
        command.dynamic_shared_bytes = config.dynamicSmemBytes;
        command.cooperative = cooperative;
        int priority = 1;
        for (const cudaLaunchAttribute& attribute : std::span(config.attrs, config.numAttrs)) {
            if (attribute.id == cudaLaunchAttributeCooperative)
                command.cooperative = attribute.val.cooperative != 0;
            if (attribute.id == cudaLaunchAttributePriority) priority = attribute.val.priority;
        }
        require(arguments != nullptr || kernel.description.argument_count == 0, "args is null");
        command.arguments.assign(kernel.description, arguments);
        Device& device = current_device(machine);
        check_launch(device, command);
        note_effect(CallEffect::launches);
        std::unique_lock lock(machine.scheduler().mutex());
        if (is_first_use(device, kernel) && !stream_at(machine, config.stream).capture) {
            lock.unlock();
            load_lazily(machine, device);
            lock.lock();
        }
        Stream& stream = stream_at(machine, config.stream);
        if (stream.device != device.index) {
            throw ApiError{cudaErrorInvalidResourceHandle,
                           fmt::format("the stream belongs to device {}, the current device is {}",
                                       stream.device, device.index)};
        }
        const int before = stream.priority;
        if (priority <= 0) stream.priority = priority;
        issue(machine, stream, std::move(operation));
        stream.priority = before;
        return cudaSuccess;
    });
}

cudaError_t occupancy(const char* function, int* blocks, const void* entry, int threads,
                      std::size_t shared) {
    return api(function, [&](Machine& machine) {
        require(blocks != nullptr, "numBlocks is null");
        require(threads > 0, "blockSize is not positive");
        *blocks = blocks_per_multiprocessor(current_device(machine).properties, kernel_at(entry),
                                            static_cast<unsigned>(threads), shared);
        return cudaSuccess;
    });
}

}  // namespace

}  // namespace vgpu

using namespace vgpu;

#pragma GCC visibility push(default)  // what programs link to
extern "C" {

cudaError_t CUDARTAPI cudaLaunchKernel(const void* entry, dim3 grid, dim3 block, void** arguments,
                                       size_t shared, cudaStream_t stream) {
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    return launch("cudaLaunchKernel", entry, config, arguments, false);
}

cudaError_t CUDARTAPI cudaLaunchCooperativeKernel(const void* entry, dim3 grid, dim3 block,
                                                  void** arguments, size_t shared,
                                                  cudaStream_t stream) {
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    return launch("cudaLaunchCooperativeKernel", entry, config, arguments, true);
}

cudaError_t CUDARTAPI cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* entry,
                                          void** arguments) {
    if (config == nullptr)
        return api("cudaLaunchKernelExC", [](Machine&) { return cudaErrorInvalidValue; });
    return launch("cudaLaunchKernelExC", entry, *config, arguments, false);
}

/// Also loads the kernel, so that hostile mode's lazy loading does not wait later.
cudaError_t CUDARTAPI cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* entry) {
    return api("cudaFuncGetAttributes", [&](Machine& machine) {
        require(attributes != nullptr, "attr is null");
        const Kernel& kernel = kernel_at(entry);
        Device& device = current_device(machine);
        std::unique_lock lock(machine.scheduler().mutex());
        const bool first_use = is_first_use(device, kernel);
        lock.unlock();
        if (first_use) load_lazily(machine, device);
        *attributes = {};
        attributes->maxThreadsPerBlock = kernel.description.max_threads_per_block;
        attributes->numRegs = kernel.description.registers_per_thread;
        attributes->sharedSizeBytes = kernel.description.static_shared_bytes;
        attributes->maxDynamicSharedSizeBytes = kernel.max_dynamic_shared_bytes;
        attributes->preferredShmemCarveout = -1;
        attributes->binaryVersion = device.properties.major * 10 + device.properties.minor;
        attributes->ptxVersion = kernel.description.ptx_version != 0
                                     ? kernel.description.ptx_version
                                     : attributes->binaryVersion;
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaFuncSetAttribute(const void* entry, cudaFuncAttribute attribute,
                                           int value) {
    return api("cudaFuncSetAttribute", [&](Machine& machine) {
        Kernel& kernel = kernel_at(entry);
        const cudaDeviceProp& limits = current_device(machine).properties;
        if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) {
            require(value >= -1 && value <= 100, "a carveout is a percentage or -1");
            return cudaSuccess;
        }
        require(attribute == cudaFuncAttributeMaxDynamicSharedMemorySize,
                "the attribute is unknown");
        require(value >= 0 &&
                    static_cast<std::size_t>(value) + kernel.description.static_shared_bytes <=
                        limits.sharedMemPerBlockOptin,
                "more shared memory than the device offers");
        kernel.max_dynamic_shared_bytes = value;
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaFuncGetName(const char** name, const void* entry) {
    return api("cudaFuncGetName", [&](Machine&) {
        require(name != nullptr, "name is null");
        *name = kernel_at(entry).description.name;
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaFuncSetCacheConfig(const void* entry, cudaFuncCache) {
    return api("cudaFuncSetCacheConfig", [&](Machine&) {
        kernel_at(entry);
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* entry,
                                                                    int threads, size_t shared) {
    return occupancy("cudaOccupancyMaxActiveBlocksPerMultiprocessor", blocks, entry, threads,
                     shared);
}

cudaError_t CUDARTAPI cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* entry, int threads, size_t shared, unsigned int) {
    return occupancy("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", blocks, entry,
                     threads, shared);
}

cudaError_t CUDARTAPI cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* entry,
                                                                int blocks, int threads) {
    return api("cudaOccupancyAvailableDynamicSMemPerBlock", [&](Machine& machine) {
        require(bytes != nullptr && blocks > 0 && threads > 0,
                "a pointer is null or a number is not positive");
        const cudaDeviceProp& limits = current_device(machine).properties;
        const Kernel& kernel = kernel_at(entry);
        const std::size_t fixed =
            kernel.description.static_shared_bytes + limits.reservedSharedMemPerBlock;
        const std::size_t each =
            limits.sharedMemPerMultiprocessor / static_cast<std::size_t>(blocks);
        *bytes = each > fixed ? std::min(each - fixed, limits.sharedMemPerBlockOptin) : 0;
        return cudaSuccess;
    });
}

}  // extern "C"
#pragma GCC visibility pop
