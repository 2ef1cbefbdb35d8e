// Splitting batches and merging updates.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include <cuda_runtime_api.h>

#include "rondo/training/data_parallel_trainer.hpp"
#include "tests/training/support.hpp"

namespace rondo::training::test {
namespace {

const DataParallelTrainer trainer;

std::vector<int> numbers(int count) {
    std::vector<int> result(static_cast<std::size_t>(count));
    std::iota(result.begin(), result.end(), 0);
    return result;
}

TEST(SplitBatch, RoundRobin) {
    EXPECT_EQ(trainer.split_batch(numbers(7), 3),
              (std::vector<std::vector<int>>{{0, 3, 6}, {1, 4}, {2, 5}}));
    EXPECT_EQ(trainer.split_batch(numbers(2), 4),
              (std::vector<std::vector<int>>{{0}, {1}, {}, {}}));
    EXPECT_EQ(trainer.split_batch(numbers(0), 2), (std::vector<std::vector<int>>(2)));
    EXPECT_EQ(trainer.split_batch(numbers(3), 1), (std::vector<std::vector<int>>{{0, 1, 2}}));
    expect_words(error_of<InvalidArgument>([] { trainer.split_batch(numbers(3), 0); }),
                 {"0 workers"});
}

TEST(SplitBatch, EverySampleOnceAndSizesDifferByOne) {
    for (int samples = 0; samples < 40; ++samples) {
        for (std::size_t workers = 1; workers < 12; ++workers) {
            std::vector<int> seen;
            std::size_t least = 1000, most = 0;
            for (const auto& part : trainer.split_batch(numbers(samples), workers)) {
                seen.insert(seen.end(), part.begin(), part.end());
                least = std::min(least, part.size());
                most = std::max(most, part.size());
            }
            std::ranges::sort(seen);
            EXPECT_EQ(seen, numbers(samples));
            EXPECT_LE(most - least, 1u);
        }
    }
}

TEST(MergeWorkerUpdates, WeighsBySamples) {
    const std::vector<WorkerUpdate> updates{
        {.gradients = {1, 10},
         .samples_processed = 1,
         .loss = 4.0,
         .metrics = {{"a", 1}, {"b", 1}}},
        {.gradients = {4, 40}, .samples_processed = 3, .loss = 8.0, .metrics = {{"a", 5}}},
        {.gradients = {NAN, NAN}, .samples_processed = 0}};
    const ModelUpdate merged = trainer.merge_worker_updates(updates);
    EXPECT_EQ(merged.gradients, (std::vector<float>{3.25, 32.5}));
    EXPECT_EQ(merged.total_samples, 4u);
    EXPECT_EQ(merged.num_workers, 3u);
    EXPECT_EQ(merged.loss, 7.0);
    EXPECT_EQ(merged.metrics, (std::map<std::string, double>{{"a", 4.0}}));
}

TEST(MergeWorkerUpdates, EqualUpdatesComeBackBitByBit) {
    std::mt19937 random(3);
    for (const std::size_t workers : {1u, 2u, 3u, 7u, 33u, 100u}) {
        WorkerUpdate update;
        for (int i = 0; i < 500; ++i) {
            update.gradients.push_back(std::ldexp(static_cast<float>(random()), i % 60 - 60));
        }
        std::vector<WorkerUpdate> updates(workers, update);
        for (auto& worker : updates) worker.samples_processed = 1 + random() % 100'000;
        EXPECT_EQ(trainer.merge_worker_updates(updates).gradients, update.gradients) << workers;
    }
}

TEST(MergeWorkerUpdates, TheSameOnADevice) {
    std::mt19937 random(4);
    std::vector<WorkerUpdate> updates(35);
    std::vector<DeviceWorkerUpdate> on_device;
    for (auto& update : updates) {
        for (int i = 0; i < 1000; ++i) {
            update.gradients.push_back(static_cast<float>(random() % 1000) / 7);
        }
        update.samples_processed = random() % 9;
        const Tensor<float> tensor = Tensor<float>::allocate(1, update.gradients.size());
        ASSERT_EQ(cudaMemcpy(tensor.data(), update.gradients.data(), 4000, cudaMemcpyDefault),
                  cudaSuccess);
        on_device.push_back({tensor, update.samples_processed});
    }
    const Tensor<float> merged = trainer.merge_on_device(on_device);
    EXPECT_EQ(merged.device(), 1);
    std::vector<float> host(1000);
    ASSERT_EQ(cudaMemcpy(host.data(), merged.data(), 4000, cudaMemcpyDefault), cudaSuccess);
    EXPECT_EQ(host, trainer.merge_worker_updates(updates).gradients);
}

TEST(MergeWorkerUpdates, Errors) {
    const auto merge = [](std::vector<WorkerUpdate> updates) {
        return error_of<InvalidArgument>([&] { trainer.merge_worker_updates(updates); });
    };
    expect_words(merge({}), {"no worker updates"});
    expect_words(merge({{.gradients = {1}, .samples_processed = 1},
                        {.gradients = {1, 2}, .samples_processed = 1}}),
                 {"worker 1 has 2 gradients", "worker 0 has 1"});
    expect_words(merge({{.gradients = {1}}, {.gradients = {2}}}), {"none of the 2 workers"});
    const Tensor<float> a = Tensor<float>::allocate(0, 3), b = Tensor<float>::allocate(1, 3);
    expect_words(error_of<InvalidArgument>([&] {
                     trainer.merge_on_device(std::vector<DeviceWorkerUpdate>{{a, 1}, {b, 1}});
                 }),
                 {"worker 1 is on device 1"});
}

}  // namespace
}  // namespace rondo::training::test
