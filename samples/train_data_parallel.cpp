// Trains a small network on all GPUs at once: every batch is shared out, and gradients are averaged
// while they are computed.
#include <cstdio>
#include <fstream>
#include <string>

#include <rondo/communicator.hpp>
#include <rondo/training/chart.hpp>
#include <rondo/training/train.hpp>

#include "synthetic_data.hpp"

int main(int argc, char** argv) try {
    using namespace rondo::training;
    const Table digits = synthetic::digits(2000, 0.2f, 1), unseen = synthetic::digits(500, 0.2f, 2);

    Graph graph = dense_network(std::vector<std::uint32_t>{32}, 10);
    const auto gpus = static_cast<std::uint32_t>(rondo::Communicator::create().size());
    graph.set_strategy(DataParallel{.num_replicas = gpus});
    const TrainingReport report = train(graph, digits,
                                        {.epochs = 12,
                                         .batch_size = 64,
                                         .optimizer = Sgd{.learning_rate = 0.1, .momentum = 0.9},
                                         .validation = &unseen});

    std::printf("epoch  loss    right\n");
    for (const Curve& curve : report.curves) {
        if (curve.name != "validation") continue;
        for (const CurvePoint& point : curve.points) {
            std::printf("%5.0f  %.4f  %.1f %%\n", point.round, point.loss, 100 * *point.accuracy);
        }
    }
    const std::string folder = argc > 1 ? argv[1] : ".";
    std::ofstream(folder + "/data_parallel.svg")
        << draw_curves(report.curves, {.title = "Loss of each replica", .x_label = "epoch"});
    return report.validation->accuracy > 0.95 ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "train_data_parallel: %s\n", error.what());
    return 1;
}
