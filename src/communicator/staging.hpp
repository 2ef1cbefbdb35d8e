// Memory that stands in for a rank's buffer where peers can't use the buffer itself.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "cuda/buffer.hpp"
#include "cuda/graph.hpp"

namespace rondo {

/// Grows and is kept, also what it was before it grew: graphs may refer to it. A call copies in
/// before its kernel and out behind it, on its own stream; a rank's calls are in order, so one is
/// enough for all of them.
template <class Buffer>
class Staging {
public:
    /// As kernels on the device see it. May allocate; fit for streams that are being captured.
    std::byte* reserve(DeviceId device, std::size_t bytes) {
        if (buffers_.empty() || buffers_.back().size() < bytes) {
            const RelaxedCaptureMode relaxed;
            const std::size_t before = buffers_.empty() ? 0 : buffers_.back().size();
            buffers_.emplace_back(device, std::max(bytes, 2 * before));
        }
        return seen(buffers_.back(), device);
    }

private:
    static std::byte* seen(const DeviceBuffer<std::byte>& buffer, DeviceId) {
        return buffer.data();
    }
    static std::byte* seen(const PinnedBuffer<std::byte>& buffer, DeviceId device) {
        return buffer.device_span(device).data();
    }

    std::vector<Buffer> buffers_;
};

/// For one of the two buffers of a rank.
struct StagingPlaces {
    Staging<DeviceBuffer<std::byte>> device;  ///< for peers that reach the device
    Staging<PinnedBuffer<std::byte>> host;    ///< for those that don't
};

}  // namespace rondo
