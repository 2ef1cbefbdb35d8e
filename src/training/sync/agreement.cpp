// See the header.
#include "training/sync/agreement.hpp"

#include <algorithm>

#include "cuda/copy.hpp"

namespace rondo::training {

Agreement::Agreement(const RankHandle& rank, std::size_t workers, const Stream& stream,
                     std::size_t most)
    : rank_(rank),
      workers_(workers),
      stream_(stream),
      values_(stream.device(), std::max<std::size_t>(most, 1)),
      numbers_(stream.device(), workers + 1) {}

/// There, through call(buffer, options), and back.
template <class Call>
void Agreement::on_device(std::span<std::int32_t> values, Call call) {
    const DeviceSpan<std::int32_t> buffer = values_.span().subspan(0, values.size());
    copy(stream_, buffer, std::span<const std::int32_t>(values));
    const cudaStream_t stream = stream_.get();
    Work work = call(buffer.data(), CallOptions{.streams = {&stream, 1}});
    copy(stream_, values, DeviceSpan<const std::int32_t>(buffer));
    work.wait();
    stream_.synchronize();
}

void Agreement::sum(std::span<std::int32_t> values) {
    on_device(values, [&](std::int32_t* buffer, const CallOptions& options) {
        return rank_.all_reduce(ReduceOp::sum, buffer, buffer, values.size(), options);
    });
}

std::int32_t Agreement::sum_of(std::int32_t own) {
    sum(std::span(&own, 1));
    return own;
}

void Agreement::take_from_first(std::span<std::int32_t> values) {
    on_device(values, [&](std::int32_t* buffer, const CallOptions& options) {
        return rank_.broadcast(buffer, buffer, values.size(), 0, options);
    });
}

std::vector<std::uint64_t> Agreement::all(std::uint64_t own) {
    std::vector<std::uint64_t> everyone(workers_);
    copy(stream_, numbers_.span().subspan(0, 1), std::span<const std::uint64_t>(&own, 1));
    const cudaStream_t stream = stream_.get();
    Work work =
        rank_.all_gather(numbers_.data(), numbers_.data() + 1, 1, {.streams = {&stream, 1}});
    copy(stream_, std::span(everyone),
         DeviceSpan<const std::uint64_t>(numbers_.span().subspan(1, workers_)));
    work.wait();
    stream_.synchronize();
    return everyone;
}

}  // namespace rondo::training
