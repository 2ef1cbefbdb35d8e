// See the header.
#include "training/sync/whole_arrays.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cuda/check.hpp"
#include "cuda/copy.hpp"

namespace rondo::training {
namespace {

bool is_device_memory(const void* pointer) {
    cudaPointerAttributes attributes{};
    check(cudaPointerGetAttributes(&attributes, pointer), "cudaPointerGetAttributes");
    return attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
}

}  // namespace

void WholeArrays::average(std::span<float> gradients) {
    const std::vector<std::uint64_t> lengths = agreement_.all(gradients.size());
    if (std::ranges::adjacent_find(lengths, std::not_equal_to<>()) != lengths.end()) {
        throw InvalidArgument(
            fmt::format("gradients of different lengths can't be averaged: workers 0 to {} brought "
                        "{} elements",
                        lengths.size() - 1, lengths));
    }
    if (gradients.empty()) return;
    if (is_device_memory(gradients.data())) {
        return average_on_device({stream_.device(), gradients.data(), gradients.size()});
    }
    const DeviceSpan<float> staged = staging(gradients.size());
    copy(stream_, staged, std::span<const float>(gradients));
    average_on_device(staged);
    copy(stream_, gradients, DeviceSpan<const float>(staged));
    stream_.synchronize();
}

/// Grows by doubling and keeps what it had: to free some would let the driver wait for kernels that
/// wait for this very worker.
DeviceSpan<float> WholeArrays::staging(std::size_t count) {
    if (staging_.empty() || staging_.back().size() < count) {
        staging_.emplace_back(stream_.device(),
                              std::max(count, staging_.empty() ? 0 : 2 * staging_.back().size()));
    }
    return staging_.back().span().subspan(0, count);
}

void WholeArrays::average_on_device(DeviceSpan<float> values) {
    const cudaStream_t stream = stream_.get();
    rank_
        .all_reduce(ReduceOp::mean, values.data(), values.data(), values.size(),
                    {.streams = {&stream, 1}})
        .wait();
}

}  // namespace rondo::training
