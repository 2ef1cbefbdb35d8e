// Which samples a step takes, and how they get to a device.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "cuda/buffer.hpp"
#include "cuda/copy.hpp"
#include "rondo/training/model.hpp"
#include "training/data/random.hpp"

namespace rondo::training {

/// The samples of an epoch in its order.
inline std::vector<std::size_t> epoch_order(std::size_t samples, bool shuffled, std::uint64_t seed,
                                            std::uint64_t epoch) {
    if (shuffled) return permutation(samples, Random(seed, 0xe90c, epoch));
    std::vector<std::size_t> order(samples);
    std::iota(order.begin(), order.end(), std::size_t{0});
    return order;
}

inline std::size_t batch_count(std::size_t samples, std::size_t batch_size) {
    return (samples + batch_size - 1) / batch_size;
}

inline std::span<const std::size_t> batch_of(std::span<const std::size_t> order,
                                             std::size_t batch_size, std::size_t step) {
    const std::size_t first = std::min(order.size(), step * batch_size);
    return order.subspan(first, std::min(batch_size, order.size() - first));
}

/// A replica's part: every `replicas`-th sample, as DataParallelTrainer::split_batch deals them.
inline std::vector<std::size_t> replica_part(std::span<const std::size_t> batch,
                                             std::size_t replicas, std::size_t replica) {
    std::vector<std::size_t> part;
    for (std::size_t i = replica; i < batch.size(); i += replicas) part.push_back(batch[i]);
    return part;
}

/// Part m of `parts` neighbouring parts; sizes differ by one at most.
inline std::span<const std::size_t> micro_batch(std::span<const std::size_t> part,
                                                std::size_t parts, std::size_t m) {
    const std::size_t first = part.size() * m / parts;
    return part.subspan(first, part.size() * (m + 1) / parts - first);
}

/// Packs samples into pinned memory and copies them to a device. A slot may be filled again when
/// the stream has passed its copy; that is up to the caller.
class BatchUploader {
public:
    BatchUploader(StreamRef stream, const DataSource& data, std::size_t slots, std::size_t max_rows)
        : stream_(stream),
          data_(data),
          max_rows_(max_rows),
          floats_(max_rows * (data.feature_count() + data.target_count())),
          pinned_(stream.device(), slots * floats_),
          device_(stream.device(), slots * floats_),
          samples_(slots) {}

    Batch upload(std::size_t slot, std::span<const std::size_t> indices) {
        std::vector<Sample>& samples = samples_[slot];
        samples.clear();
        float* const features = pinned_.data() + slot * floats_;
        float* const targets = features + max_rows_ * data_.feature_count();
        for (std::size_t row = 0; row < indices.size(); ++row) {
            samples.push_back(data_.sample(indices[row]));
            check(samples.back(), indices[row]);
            std::ranges::copy(samples.back().features, features + row * data_.feature_count());
            std::ranges::copy(samples.back().targets, targets + row * data_.target_count());
        }
        float* const target = device_.data() + slot * floats_;
        if (!indices.empty()) {
            copy(stream_, DeviceSpan<float>(stream_.device(), target, floats_),
                 std::span<const float>(features, floats_));
        }
        return {samples, target, target + max_rows_ * data_.feature_count()};
    }

private:
    /// Sources of users may say one thing and yield another; kernels trust what they are given.
    void check(const Sample& sample, std::size_t index) const {
        if (sample.features.size() != data_.feature_count() ||
            sample.targets.size() != data_.target_count()) {
            throw InvalidArgument(
                fmt::format("sample {} has {} features and {} targets; its source says {} and {}",
                            index, sample.features.size(), sample.targets.size(),
                            data_.feature_count(), data_.target_count()));
        }
        const std::size_t classes = data_.class_count();
        if (classes > 0 &&
            !(sample.targets[0] >= 0 && sample.targets[0] < static_cast<float>(classes))) {
            throw InvalidArgument(fmt::format("sample {} is of class {}; there are classes 0 to {}",
                                              index, sample.targets[0], classes - 1));
        }
    }

    StreamRef stream_;
    const DataSource& data_;
    std::size_t max_rows_;
    std::size_t floats_;  ///< of a slot
    PinnedBuffer<float> pinned_;
    DeviceBuffer<float> device_;
    std::vector<std::vector<Sample>> samples_;
};

}  // namespace rondo::training
