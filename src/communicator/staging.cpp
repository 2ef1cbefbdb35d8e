#include "communicator/staging.hpp"

#include "cuda/check.hpp"
#include "cuda/device_guard.hpp"

namespace rondo {

StagingPool::StagingPool(DeviceId device, std::span<const DeviceId> peers) : device_(device) {
    const DeviceGuard guard(device);
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = device.value();
    check(cudaMemPoolCreate(&pool_, &properties), "cudaMemPoolCreate");
    for (const DeviceId peer : peers) {
        cudaMemAccessDesc access{};
        access.location.type = cudaMemLocationTypeDevice;
        access.location.id = peer.value();
        access.flags = cudaMemAccessFlagsProtReadWrite;
        check(cudaMemPoolSetAccess(pool_, &access, 1), "cudaMemPoolSetAccess");
    }
    std::uint64_t keep_all = UINT64_MAX;
    check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep_all),
          "cudaMemPoolSetAttribute");
}

StagingPool::~StagingPool() {
    check_noexcept(cudaMemPoolDestroy(pool_), "cudaMemPoolDestroy");
}

void* StagingPool::allocate(std::size_t bytes, StreamRef stream) const {
    void* memory = nullptr;
    check(cudaMallocFromPoolAsync(&memory, bytes, pool_, stream.get()), "cudaMallocFromPoolAsync");
    return memory;
}

void StagingPool::free(void* memory, StreamRef stream) const {
    check(cudaFreeAsync(memory, stream.get()), "cudaFreeAsync");
}

}  // namespace rondo
