// Merges what the workers of a step computed.
#include "rondo/training/data_parallel_trainer.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cuda/buffer.hpp"
#include "cuda/check.hpp"
#include "cuda/device_guard.hpp"
#include "training/sync/merge.hpp"

namespace rondo::training {
namespace {

/// Total number of samples; throws unless the updates fit together.
template <class Update>
std::uint64_t check_updates(std::span<const Update> updates) {
    if (updates.empty()) throw InvalidArgument("there are no worker updates to merge");
    std::uint64_t total = 0;
    for (std::size_t w = 0; w < updates.size(); ++w) {
        if (updates[w].gradients.size() != updates[0].gradients.size()) {
            throw InvalidArgument(
                fmt::format("the update of worker {} has {} gradients, that of worker 0 has {}", w,
                            updates[w].gradients.size(), updates[0].gradients.size()));
        }
        total += updates[w].samples_processed;
    }
    if (total == 0) {
        throw InvalidArgument(
            fmt::format("none of the {} workers has processed a sample", updates.size()));
    }
    return total;
}

/// Calls accumulate(inputs, continues) for groups of workers that have samples.
template <class Update, class Accumulate>
void accumulate_groups(std::span<const Update> updates, Accumulate accumulate) {
    bool continues = false;
    MergeInputs inputs{};
    const auto flush = [&] {
        if (inputs.workers == 0) return;
        accumulate(inputs, continues);
        continues = true;
        inputs.workers = 0;
    };
    for (const Update& update : updates) {
        if (update.samples_processed == 0) continue;
        inputs.gradients[inputs.workers] = update.gradients.data();
        inputs.weights[inputs.workers] = static_cast<double>(update.samples_processed);
        if (++inputs.workers == merge_group) flush();
    }
    flush();
}

void merge_loss_and_metrics(std::span<const WorkerUpdate> updates, ModelUpdate& merged) {
    const double total = static_cast<double>(merged.total_samples);
    std::map<std::string, double> sums;
    std::map<std::string, std::size_t> seen;
    std::size_t active = 0, with_loss = 0;
    double loss = 0;
    for (const WorkerUpdate& update : updates) {
        if (update.samples_processed == 0) continue;
        ++active;
        const double samples = static_cast<double>(update.samples_processed);
        if (update.loss) {
            ++with_loss;
            loss += samples * *update.loss;
        }
        for (const auto& [name, value] : update.metrics) {
            sums[name] += samples * value;
            ++seen[name];
        }
    }
    if (with_loss == active) merged.loss = loss / total;
    for (const auto& [name, sum] : sums) {
        if (seen[name] == active) merged.metrics[name] = sum / total;
    }
}

}  // namespace

void DataParallelTrainer::check_workers(std::size_t n_workers) {
    if (n_workers == 0) throw InvalidArgument("a batch can't be split for 0 workers");
}

ModelUpdate DataParallelTrainer::merge_worker_updates(std::span<const WorkerUpdate> updates) const {
    ModelUpdate merged;
    merged.total_samples = check_updates(updates);
    merged.num_workers = updates.size();
    merged.gradients.resize(updates[0].gradients.size());
    std::vector<double> sums(merged.gradients.size());
    accumulate_groups(updates, [&](const MergeInputs& inputs, bool continues) {
        accumulate_on_host(inputs, continues, sums.data(), sums.size());
    });
    finish_on_host(sums.data(), static_cast<double>(merged.total_samples), merged.gradients.data(),
                   sums.size());
    merge_loss_and_metrics(updates, merged);
    return merged;
}

Tensor<float> DataParallelTrainer::merge_on_device(
    std::span<const DeviceWorkerUpdate> updates) const {
    const double total = static_cast<double>(check_updates(updates));
    const int device = updates[0].gradients.device();
    for (std::size_t w = 0; w < updates.size(); ++w) {
        if (updates[w].gradients.device() != device) {
            throw InvalidArgument(fmt::format(
                "the update of worker {} is on device {}, that of worker 0 on device {}", w,
                updates[w].gradients.device(), device));
        }
    }
    const std::size_t count = updates[0].gradients.size();
    Tensor<float> result = Tensor<float>::allocate(device, count);
    if (count == 0) return result;
    const DeviceGuard guard{DeviceId(device)};
    check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");  // what made the gradients
    const DeviceBuffer<double> sums(DeviceId(device), count);
    accumulate_groups(updates, [&](const MergeInputs& inputs, bool continues) {
        accumulate_on_device(inputs, continues, sums.data(), count);
    });
    finish_on_device(sums.data(), total, result.data(), count);
    check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
    return result;
}

}  // namespace rondo::training
