// The arithmetic of data-parallel training: cutting a batch into sub-batches, and putting the
// workers' gradients together again.
//
//     rondo::training::DataParallelTrainer trainer;
//     auto parts = trainer.split_batch(std::span<const Sample>(batch), 4);
//     ...                                               // each worker makes a WorkerUpdate
//     ModelUpdate update = trainer.merge_worker_updates(updates);
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rondo/error.hpp"
#include "rondo/export.hpp"
#include "rondo/values.hpp"

namespace rondo::training {

/// What one worker has to say about its sub-batch.
struct WorkerUpdate {
    std::vector<float> gradients;         ///< mean over its samples
    std::uint64_t samples_processed = 0;  ///< may be 0: then the gradients don't count
    std::optional<double> loss = {};      ///< mean over its samples
    std::map<std::string, double> metrics = {};
};

/// The same with the gradients on a device.
struct DeviceWorkerUpdate {
    Tensor<const float> gradients;
    std::uint64_t samples_processed = 0;
};

/// What all workers say together.
struct ModelUpdate {
    std::vector<float> gradients;  ///< mean over all samples
    std::uint64_t total_samples = 0;
    std::size_t num_workers = 0;
    std::optional<double> loss = {};             ///< when every worker with samples gave one
    std::map<std::string, double> metrics = {};  ///< those that every worker with samples gave
};

/// Stateless; a default-constructed one is as good as any other.
class RONDO_API DataParallelTrainer {
public:
    /// One sub-batch per worker: sample i goes to worker i % n_workers, so sizes differ by one at
    /// most and workers beyond the samples get nothing. Throws InvalidArgument for 0 workers.
    template <class Sample>
    std::vector<std::vector<Sample>> split_batch(std::span<const Sample> samples,
                                                 std::size_t n_workers) const {
        check_workers(n_workers);
        std::vector<std::vector<Sample>> parts(n_workers);
        for (auto& part : parts) part.reserve(samples.size() / n_workers + 1);
        for (std::size_t i = 0; i < samples.size(); ++i) parts[i % n_workers].push_back(samples[i]);
        return parts;
    }
    template <class Sample>
    std::vector<std::vector<Sample>> split_batch(const std::vector<Sample>& samples,
                                                 std::size_t n_workers) const {
        return split_batch(std::span<const Sample>(samples), n_workers);
    }

    /// The mean of the gradients weighted by samples_processed: what one worker would have computed
    /// from all samples. Accumulated in double, in the order of the workers; equal gradients come
    /// back bit by bit. Throws InvalidArgument for no updates, different lengths (named), or no
    /// samples at all.
    ModelUpdate merge_worker_updates(std::span<const WorkerUpdate> updates) const;

    /// The same where the gradients are: all on one device, result in new memory of it. Runs on
    /// that device's default stream and has ended when it returns.
    Tensor<float> merge_on_device(std::span<const DeviceWorkerUpdate> updates) const;

private:
    static void check_workers(std::size_t n_workers);
};

}  // namespace rondo::training
