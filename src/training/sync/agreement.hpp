// Small numbers that all workers of a gradient sync must know: who is still there, whose turn it
// is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cuda/buffer.hpp"
#include "cuda/stream.hpp"
#include "rondo/communicator.hpp"

namespace rondo::training {

/// Every worker makes the same calls in the same order. Each waits for its result. Memory is
/// allocated once, because drivers may wait for other kernels when they allocate.
class Agreement {
public:
    /// Vectors have up to `most` numbers. The stream must outlive this object.
    Agreement(const RankHandle& rank, std::size_t workers, const Stream& stream, std::size_t most);

    /// Replaces the values by their sums over all workers.
    void sum(std::span<std::int32_t> values);
    std::int32_t sum_of(std::int32_t own);
    /// One number of every worker, in their order.
    std::vector<std::uint64_t> all(std::uint64_t own);
    /// Replaces the values by those of worker 0.
    void take_from_first(std::span<std::int32_t> values);

private:
    template <class Call>
    void on_device(std::span<std::int32_t> values, Call call);

    RankHandle rank_;
    std::size_t workers_;
    const Stream& stream_;
    DeviceBuffer<std::int32_t> values_;
    DeviceBuffer<std::uint64_t> numbers_;
};

}  // namespace rondo::training
