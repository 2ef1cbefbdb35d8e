// A coordinator of one's own: GPUs train alone for an epoch and then average their models (local
// SGD). Its configuration is JSON that only it understands; here it is the number of rounds.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <rondo/training/chart.hpp>
#include <rondo/training/coordinator.hpp>
#include <rondo/training/data_parallel_trainer.hpp>

#include "synthetic_data.hpp"

namespace {

using namespace rondo::training;

TrainingReport local_sgd(const CoordinatorContext& context) {
    const int rounds = std::atoi(context.config.c_str());
    std::vector<LocalTrainer> trainers;
    for (const int device : context.devices) {
        trainers.emplace_back(context.model, context.data, device, context.options);
    }
    std::vector<std::size_t> all(context.data.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    const DataParallelTrainer arithmetic;
    const auto shards = arithmetic.split_batch(all, trainers.size());

    TrainingReport report;
    report.curves.push_back({.name = "mean"});
    for (int round = 0; round < rounds; ++round) {
        std::vector<WorkerUpdate> updates(trainers.size());
        std::vector<std::jthread> threads;
        for (std::size_t w = 0; w < trainers.size(); ++w) {
            threads.emplace_back([&, w] {
                const double loss =
                    trainers[w].train_epoch(shards[w], static_cast<std::uint64_t>(round));
                updates[w] = {trainers[w].parameters(), shards[w].size(), loss};
            });
        }
        threads.clear();
        const ModelUpdate merged = arithmetic.merge_worker_updates(updates);
        for (LocalTrainer& trainer : trainers) trainer.set_parameters(merged.gradients);
        report.curves[0].points.push_back({round + 1.0, *merged.loss});
    }
    report.parameters = trainers[0].parameters();
    report.validation = trainers[0].evaluate(*context.options.validation);
    return report;
}

}  // namespace

int main(int argc, char** argv) try {
    const Table digits = synthetic::digits(1500, 0.3f, 1), unseen = synthetic::digits(500, 0.3f, 2);
    CoordinatorRegistry registry;
    registry.add("local_sgd", local_sgd);
    const TrainingReport report = train(dense_network(std::vector<std::uint32_t>{24}, 10),
                                        Custom{.coordinator = "local_sgd", .config = "12"}, digits,
                                        {.batch_size = 20,
                                         .optimizer = Sgd{.learning_rate = 0.3, .momentum = 0.5},
                                         .validation = &unseen,
                                         .coordinators = &registry});
    std::printf("round  loss\n");
    for (const CurvePoint& point : report.curves[0].points) {
        std::printf("%5.0f  %.4f\n", point.round, point.loss);
    }
    std::printf("right: %.1f %%\n", 100 * report.validation->accuracy);
    const std::string folder = argc > 1 ? argv[1] : ".";
    std::ofstream(folder + "/custom.svg")
        << draw_curves(report.curves, {.title = "Loss of local SGD"});
    return report.validation->accuracy > 0.9 ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "train_custom: %s\n", error.what());
    return 1;
}
