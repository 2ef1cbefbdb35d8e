// Memory that stands in for a rank's buffer where peers can't use the buffer itself.
#pragma once

#include <span>

#include "cuda/device.hpp"
#include "cuda/stream.hpp"

namespace rondo {

/// A pool of one device that other devices may use too. It is made with the communicator; what it
/// gives is allocated and freed in stream order, so that no call waits for a device. Not for
/// streams that are being captured.
class StagingPool {
public:
    StagingPool(DeviceId device, std::span<const DeviceId> peers);
    ~StagingPool();
    StagingPool(const StagingPool&) = delete;
    StagingPool& operator=(const StagingPool&) = delete;

    /// Exists from this point of the stream on.
    void* allocate(std::size_t bytes, StreamRef stream) const;
    /// Until this point.
    void free(void* memory, StreamRef stream) const;

private:
    DeviceId device_;
    cudaMemPool_t pool_ = nullptr;
};

}  // namespace rondo
