// Memory of a device from cudaMalloc() or from pools, for suites that run on all of it.
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

namespace rondo::test {

/// Where a buffer comes from.
enum class MemorySource {
    device,       ///< cudaMalloc()
    closed_pool,  ///< a pool that only its own device reaches
    open_pool,    ///< a pool that every device reaches that can
    mixed,        ///< all of these in turn
};

inline std::string to_string(MemorySource source) {
    const char* const names[] = {"device", "closed_pool", "open_pool", "mixed"};
    return names[static_cast<std::size_t>(source)];
}

inline void require_success(cudaError_t status) {
    if (status != cudaSuccess) {
        throw std::runtime_error(cudaGetErrorString(status));
    }
}

/// A pool of one device, closed to all others at first.
class TestPool {
public:
    explicit TestPool(int device) : device_(device) {
        cudaMemPoolProps properties{};
        properties.allocType = cudaMemAllocationTypePinned;
        properties.location.type = cudaMemLocationTypeDevice;
        properties.location.id = device;
        require_success(cudaMemPoolCreate(&pool_, &properties));
    }
    ~TestPool() { cudaMemPoolDestroy(pool_); }
    TestPool(const TestPool&) = delete;
    TestPool& operator=(const TestPool&) = delete;

    /// All devices that can, or none, reach it besides its own.
    void set_access(bool open) {
        int devices = 0;
        require_success(cudaGetDeviceCount(&devices));
        for (int peer = 0; peer < devices; ++peer) {
            int possible = 0;
            if (peer != device_) require_success(cudaDeviceCanAccessPeer(&possible, peer, device_));
            if (possible != 0) set_access_of(peer, open);
        }
    }
    void set_access_of(int peer, bool open) {
        cudaMemAccessDesc access{};
        access.location.type = cudaMemLocationTypeDevice;
        access.location.id = peer;
        access.flags = open ? cudaMemAccessFlagsProtReadWrite : cudaMemAccessFlagsProtNone;
        require_success(cudaMemPoolSetAccess(pool_, &access, 1));
    }
    /// To be freed by cudaFree(), also after the end of the pool.
    std::byte* allocate(std::size_t bytes) {
        require_success(cudaSetDevice(device_));
        void* memory = nullptr;
        require_success(cudaMallocFromPoolAsync(&memory, bytes, pool_, cudaStreamLegacy));
        require_success(cudaStreamSynchronize(cudaStreamLegacy));
        return static_cast<std::byte*>(memory);
    }

private:
    int device_;
    cudaMemPool_t pool_ = nullptr;
};

/// Gives out memory of all devices; to be freed by cudaFree().
class TestMemory {
public:
    explicit TestMemory(MemorySource source) : source_(source) {}

    std::byte* allocate(int device, std::size_t bytes) {
        MemorySource source = source_;
        if (source == MemorySource::mixed) source = static_cast<MemorySource>(turn_++ % 3);
        if (source == MemorySource::device) {
            void* memory = nullptr;
            require_success(cudaSetDevice(device));
            require_success(cudaMalloc(&memory, bytes));
            return static_cast<std::byte*>(memory);
        }
        pools_.push_back(std::make_unique<TestPool>(device));
        pools_.back()->set_access(source == MemorySource::open_pool);
        return pools_.back()->allocate(bytes);
    }

private:
    MemorySource source_;
    std::size_t turn_ = 0;
    std::vector<std::unique_ptr<TestPool>> pools_;
};

}  // namespace rondo::test
