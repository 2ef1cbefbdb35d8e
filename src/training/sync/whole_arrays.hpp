// The mean of arrays that are brought as a whole, from host or device memory.
#pragma once

#include <span>
#include <vector>

#include "cuda/buffer.hpp"
#include "cuda/stream.hpp"
#include "rondo/communicator.hpp"
#include "training/sync/agreement.hpp"

namespace rondo::training {

class WholeArrays {
public:
    /// Stream and agreement must outlive this object.
    WholeArrays(const RankHandle& rank, const Stream& stream, Agreement& agreement)
        : rank_(rank), stream_(stream), agreement_(agreement) {}

    /// Waits for the result. Throws InvalidArgument at every worker when the lengths differ.
    void average(std::span<float> gradients);

private:
    DeviceSpan<float> staging(std::size_t count);
    void average_on_device(DeviceSpan<float> values);

    RankHandle rank_;
    const Stream& stream_;
    Agreement& agreement_;
    std::vector<DeviceBuffer<float>> staging_;
};

}  // namespace rondo::training
